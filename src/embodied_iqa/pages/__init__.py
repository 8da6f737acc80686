"""What people look at: reports and the studio.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `reports.kit`: building blocks of reports: tables, figures, number formats, page renderer
- `reports.trial`: the report of a trial run
- `reports.experiment`: the report of an experiment that compares gates
- `reports.benchmark`: the report of a benchmark of metrics
- `reports.miqa`: the report of an evaluation on labels of machine vision
- `reports.database`: the report of a database
- `reports.panel`: the report of the embedded panel
- `reports.static`: the report of subjects on a static benchmark
- `reports.manipulation`: the report of planners in the simulated cell
- `reports`: which report a folder of stored results has
- `studio.kit`: what all pages of the studio share: sources, rendering, security
- `studio.browse`: pages of a database: its pairs, one pair, images; and of stored images
- `studio.boards`: leaderboards of databases and experiments
- `studio.watch`: pages of a run: its overview, the player of its recording
- `studio.people`: pages on which people work: annotate, verify, judge, the journal of edits
- `studio`: the studio: a local web application to look at databases and runs

A chapter is a file in the report's room (of a trial, a macro in `reports/templates/run.html.j2`); a page of
the studio is a module with `routes(studio)` in one of the studio's rooms, listed in `PAGES` in
`studio/app.py`.
"""
