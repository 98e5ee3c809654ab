"""with_h5py.py FILE: what a script with h5py usually does, natively or through the connector."""
import os
import sys

import h5py
import numpy as np

path = sys.argv[1]
with h5py.File(path, "w") as f:
    f.attrs["title"] = "a text"
    f.attrs["numbers"] = np.arange(4)
    f.create_dataset("grid", data=np.arange(60, dtype="f4").reshape(5, 12))
    chunked = f.create_dataset("a/b/chunked", (4, 6), maxshape=(None, 6), chunks=(2, 3), compression="gzip", fillvalue=-1)
    chunked[1:3, ::2] = [[1, 2, 3], [4, 5, 6]]
    chunked.resize(7, axis=0)
    chunked[-1] = range(6)
    texts = f.create_dataset("texts", (3,), dtype=h5py.string_dtype())
    texts[:] = ["one", "", "drei"]
    lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(np.int32))
    lists[0] = [1, 2, 3]
    f["records"] = np.array([(1, 2.5, b"x"), (2, 3.5, b"yy")], dtype=[("n", "i4"), ("r", "f8"), ("s", "S4")])
    f["records"]["r"] = [9, 8]
    f["enum"] = np.array([0, 1, 1], dtype=h5py.enum_dtype({"NO": 0, "YES": 1}, basetype="i1"))
    f["flags"] = np.array([True, False])
    f["complex"] = np.array([1 + 2j, 3j])
    f["empty"] = h5py.Empty("f4")
    f["soft"] = h5py.SoftLink("/grid")
    f["hard"] = f["grid"]
    f["type"] = np.dtype("f8")
    f["grid"].attrs.create("units", "m", dtype=h5py.string_dtype())
    f.copy("a", "copy")
    f.move("copy", "moved")
    group = f.create_group("ordered", track_order=True)
    for name in "zyx":
        group[name] = 1

with h5py.File(path, "r+") as f:
    assert f.attrs["title"] == "a text" and list(f.attrs["numbers"]) == [0, 1, 2, 3]
    assert (f["grid"][1:4:2, 3] == [15, 39]).all() and f["soft"][4, 11] == 59 and f["hard"] == f["grid"]
    assert f["grid"][[0, 2], 1].tolist() == [1, 25] and f["grid"][f["grid"][...] > 57].tolist() == [58, 59]
    assert f["moved/b/chunked"][2].tolist() == [4, -1, 5, -1, 6, -1] and f["a/b/chunked"].shape == (7, 6)
    assert f["texts"].asstr()[:].tolist() == ["one", "", "drei"] and f["lists"][0].tolist() == [1, 2, 3]
    assert f["records"]["r"].tolist() == [9, 8] and f["records"][1]["s"] == b"yy"
    assert f["complex"][0] == 1 + 2j and f["flags"][0] and f["empty"].shape is None
    assert len(f["ordered"]) == 3 and f["type"].dtype == np.float64
    assert f["grid"].attrs["units"] == "m" and f["grid"].parent.name == "/" and f["a/b/chunked"].name == "/a/b/chunked"
    if "HDF5_VOL_CONNECTOR" not in os.environ:
        # h5py iterates and looks at links by functions of HDF5 1.10, which HDF5 has for native files only.
        names = []
        f.visititems(lambda name, thing: names.append(name))
        assert "a/b/chunked" in names and "soft" not in names and len(names) == len(set(names))
        assert list(f["ordered"]) == ["z", "y", "x"] and isinstance(f.get("soft", getlink=True), h5py.SoftLink)
    assert "nothing" not in f
    del f["hard"], f["grid"].attrs["units"]
    assert "hard" not in f and "units" not in f["grid"].attrs
print("fine")
