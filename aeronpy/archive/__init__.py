"""Record streams into a directory in the files of Aeron Archive; `aeronpy.recording` reads them back."""
