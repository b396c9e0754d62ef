"""sbom.py - what is in the packages, and what made them, as SPDX 2.3 in JSON: for ./dev package.

    sbom.py VERSION COMMIT FOLDER OUTPUT

Each file of FOLDER is a package of the document. Those of a .deb or a wheel are listed with their digests. Facts are
read from the files themselves and from dpkg's database; a build tool that dpkg does not know is left out. The same
packages and tools give the same bytes: the time is SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile

TOOLS = ("binutils", "libc6-dev", "cmake", "dpkg-dev", "debhelper", "dh-python", "xz-utils", "git", "python3", "python3-dev")
LICENSE = "Apache-2.0"
# What the program may hold, by the names of Debian's sources: the package, the licence, whose it is.
ARCHIVES = {
    "jansson": ("libjansson-dev", "MIT", "2009-2014 Petri Lehtinen, 2011 Basile Starynkevitch"),
    "zlib": ("zlib1g-dev", "Zlib", "1995-2022 Jean-loup Gailly and Mark Adler"),
}


def installed(package):
    """(version, architecture) of a Debian package here; None if there is none."""
    form = "${db:Status-Status} ${Version} ${Architecture}"
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    words = done.stdout.split()
    return (words[1], words[2]) if done.returncode == 0 and words[0] == "installed" else None


def compilers():
    """The package that has gcc's program: gcc-12."""
    try:
        major = (
            subprocess.run(["/usr/bin/gcc", "-dumpversion"], capture_output=True, text=True)
            .stdout.split(".")[0]
            .strip()
        )
    except FileNotFoundError:
        return ()
    return (f"gcc-{major}",)


def field(path, name):
    return subprocess.run(["dpkg-deb", "-f", path, name], capture_output=True, text=True, check=True).stdout.strip()


def members(path):
    """(name, bytes) of each plain file that a package holds."""
    if path.endswith(".deb"):
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member).read()
    elif path.endswith(".whl"):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if not name.endswith("/"):
                    yield "./" + name, archive.read(name)


def digests(data):
    """SPDX wants SHA-1 of files."""
    return [
        {"algorithm": name.upper(), "checksumValue": hashlib.new(name, data).hexdigest()}
        for name in ("sha1", "sha256")
    ]


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words)).strip("-")


def kinds(name):
    if re.search(r"\.(so[.0-9]*|a)$|/bin/", name):
        return ["BINARY"]
    if re.search(r"/include/|\.(c|cpp|f90|h|py)$", name):
        return ["SOURCE"]
    return ["DOCUMENTATION" if "/doc/" in name or "/man/" in name else "OTHER"]


def purl(locator):
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:{locator}"}


class Document:
    def __init__(self):
        self.packages, self.files, self.relations = [], [], []

    def relate(self, one, how, other):
        self.relations.append({"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other})

    def package(self, this, name, version, license=LICENSE, refs=(), **more):
        common = {"supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "copyrightText": "NOASSERTION"}
        self.packages.append({"SPDXID": this, "name": name, "versionInfo": version, "licenseConcluded": license})
        self.packages[-1].update(
            licenseDeclared=license, externalRefs=list(refs), filesAnalyzed=False, **{**common, **more}
        )
        return self.packages[-1]

    def holds(self, package, members):
        """Lists the files that a package holds."""
        ones = sorted(hashlib.sha1(content).hexdigest() for _, content in members)
        code = hashlib.sha1("".join(ones).encode()).hexdigest()
        package.update(filesAnalyzed=True, licenseInfoFromFiles=["NOASSERTION"])
        package["packageVerificationCode"] = {"packageVerificationCodeValue": code}
        unknown = {
            "licenseConcluded": "NOASSERTION",
            "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION",
        }
        for name, content in sorted(members):
            place = hashlib.sha1(name.encode()).hexdigest()[:8]
            this = identifier("File", package["packageFileName"], name.lstrip("./"), place)
            file = {
                "SPDXID": this,
                "fileName": name,
                "fileTypes": kinds(name),
                "checksums": digests(content),
                **unknown,
            }
            self.files.append(file)
            self.relate(package["SPDXID"], "CONTAINS", this)


def one_package(document, version, commit, path):
    """A file of the folder."""
    name, this = os.path.basename(path), identifier("Package", os.path.basename(path))
    with open(path, "rb") as file:
        facts = {"packageFileName": name, "checksums": digests(file.read())}
    if ".tar." in name:
        facts.update(primaryPackagePurpose="SOURCE", sourceInfo=f"git archive of the commit {commit}")
        if name.endswith(".gz"):
            facts.update(refs=[purl(f"pypi/tilewright@{version}?file_name={name}")], comment="with PKG-INFO, for PyPI")
        document.package(this, "tilewright", version, **facts, license=f"{LICENSE} AND CC-BY-4.0")
    elif name.endswith(".deb"):
        deb, revision, architecture = (field(path, each) for each in ("Package", "Version", "Architecture"))
        facts.update(primaryPackagePurpose="INSTALL", refs=[purl(f"deb/debian/{deb}@{revision}?arch={architecture}")])
        package = document.package(this, deb, revision, **facts)
        document.holds(package, list(members(path)))
        for name, version in re.findall(r"(\w+) \(= ([^)]+)\)", field(path, "Static-Built-Using")):
            links(document, package, name, version)
    else:
        facts.update(primaryPackagePurpose="LIBRARY", refs=[purl(f"pypi/tilewright@{version}")])
        package = document.package(this, "tilewright (wheel)", version, **facts)
        document.holds(package, list(members(path)))
        notices = {name.rpartition("/licenses/")[2] for name, _ in members(path) if "/licenses/" in name}
        for name in sorted(notices & ARCHIVES.keys()):
            links(document, package, name, installed(ARCHIVES[name][0])[0])
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", this)


def links(document, package, name, version):
    """The program links the archive of that name."""
    debian, license, copyright = ARCHIVES[name]
    for key in "licenseConcluded", "licenseDeclared":
        package[key] += f" AND {license}"
    facts = {
        "comment": f"a static library in the program tilewright, from Debian's {debian}",
        "copyrightText": copyright,
        "primaryPackagePurpose": "LIBRARY",
        "refs": [purl(f"deb/debian/{name}@{version}?arch=source")],
    }
    this = f"SPDXRef-Package-{name}"
    if all(each["SPDXID"] != this for each in document.packages):
        document.package(this, name, version, license, **facts)
    document.relate(package["SPDXID"], "STATIC_LINK", this)


def build_tools(document, source):
    for tool in (*compilers(), *TOOLS):
        found = installed(tool)
        if found:
            this, where = identifier("Tool", tool), purl(f"deb/debian/{tool}@{found[0]}?arch={found[1]}")
            document.package(this, tool, found[0], "NOASSERTION", [where], primaryPackagePurpose="APPLICATION")
            document.relate(this, "BUILD_TOOL_OF", source)


def main(version, commit, folder, output):
    document = Document()
    for name in sorted(os.listdir(folder)):
        one_package(document, version, commit, os.path.join(folder, name))
    made = [package["SPDXID"] for package in document.packages if "packageFileName" in package]
    source = next(this for this in made if this.endswith(".tar.xz"))
    for this in made:
        if this != source:
            document.relate(this, "GENERATED_FROM", source)
    build_tools(document, source)

    facts = json.dumps([document.packages, document.relations])  # another document has another namespace
    name = f"tilewright-{version}"
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    said = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{hashlib.sha256(facts.encode()).hexdigest()}",
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/package/sbom.py"]},
        "packages": document.packages,
        "files": document.files,
        "relationships": document.relations,
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(said, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
