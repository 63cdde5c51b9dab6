"""`brokertrial explore`: random sequences of requests, put alike to a broker and to one that is known to be good."""
