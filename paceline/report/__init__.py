"""What is recorded, in sentences, tables, charts and pages."""
