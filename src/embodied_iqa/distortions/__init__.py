"""Thirty ways to spoil a picture at five levels, and the ten of machine vision."""
