"""Every metric by name, whatever it is made of."""

from embodied_iqa.quality.metrics.catalogue.names import (
    KINDS,
    Kind,
    close_metric,
    known_metrics,
    metric_by_name,
    metric_names,
    plugin_fault,
)

__all__ = ["KINDS", "Kind", "close_metric", "known_metrics", "metric_by_name", "metric_names", "plugin_fault"]
