"""From what the proof found and decided to what a reader sees of each instruction.

Nothing is solved here: the terms of the segments are looked at once more, and the verdicts of the
obligations say which correspondences are established.
"""
