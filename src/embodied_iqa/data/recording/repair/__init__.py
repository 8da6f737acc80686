"""Reading and repair of recordings that have no index: growing, cut short or damaged ones."""
