"""Recording at the studio's desk: who speaks, their takes, and what becomes of them."""
