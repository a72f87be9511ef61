"""Published pages, answered table by table: docs/answers/ has the data."""
