"""What puts checks to histories: DuckDB, and what makes its work smaller without another answer."""
