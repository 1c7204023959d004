"""Commands that run or read a program: run, demo, explain, fork, replay."""
