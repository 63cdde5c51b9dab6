"""Cases: every module in here that is not private, and the guarantees of the TOML files beside them."""
