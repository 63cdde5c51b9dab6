"""After a case: everything about what it made is asked, and the answers must agree with each other and with what was
acknowledged. One file for each thing that is looked at."""
