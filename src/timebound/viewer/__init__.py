"""The viewer: races and crowds to look at, live in a browser or written down. No search code is in here.

``race.py`` runs lanes and knows what there is to see, ``wire.py`` makes bytes of it.
"""
