"""The reviewer's desk: the workshop's review services for people who are signed in."""
