"""What happened: row types, recorder, storage and reader of histories."""
