"""All programs, by theme and by name."""

import importlib

THEMES = ("stencils", "fluids", "dense", "products", "sequences", "graphs", "physics", "learning", "chance", "images")


def all_programs():
    return {
        program.name: program
        for theme in THEMES
        for program in importlib.import_module(f"{__package__}.{theme}").PROGRAMS
    }
