"""Discord: how its interactions and messages become turns, decisions and answers."""
