"""Building blocks of reports: tables, figures, number formats and images."""
