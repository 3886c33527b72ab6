# SPDX-License-Identifier: Apache-2.0
"""Finds the plugin library and reads its version and attributes by ctypes, without JAX."""
import ctypes
import os
import pathlib
import platform
import sys

LIBRARY_NAME = "pjrt_c_api_hlocc_plugin.so"
PJRT_MAJOR = 0
PJRT_MIN_MINOR = 112


class LibraryError(RuntimeError):
    """The library is missing, not a PJRT plugin, or too old for this package."""


def library_path():
    """Path of the plugin: HLOCC_LIBRARY_PATH, the installed package, the source tree, the system."""
    chosen = os.environ.get("HLOCC_LIBRARY_PATH")
    if chosen:
        if not os.path.isfile(chosen):
            raise LibraryError(f"HLOCC_LIBRARY_PATH names no file: {chosen}")
        return chosen
    package = pathlib.Path(__file__).resolve().parent
    system = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    folders = [package, package.parent.parent / "build" / "lib", pathlib.Path(sys.prefix) / "lib",
               pathlib.Path("/usr/local/lib"), pathlib.Path("/usr/lib"), system, system / "hlocc"]
    for folder in folders:
        if (folder / LIBRARY_NAME).is_file():
            return str(folder / LIBRARY_NAME)
    raise LibraryError(f"{LIBRARY_NAME} not found in {', '.join(map(str, folders))}; build it with "
                       "`make all`, or set HLOCC_LIBRARY_PATH to its path")


# The fields with which the function tables of PJRT and of the XLA FFI begin.
API_HEAD = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
            ("version_size", ctypes.c_size_t), ("version_extension", ctypes.c_void_p),
            ("major", ctypes.c_int), ("minor", ctypes.c_int)]


class _Api(ctypes.Structure):
    """The head of PJRT_Api, up to the entry that this module calls."""
    _fields_ = [*API_HEAD,
                ("error_destroy", ctypes.c_void_p), ("error_message", ctypes.c_void_p),
                ("error_code", ctypes.c_void_p), ("plugin_initialize", ctypes.c_void_p),
                ("plugin_attributes", ctypes.c_void_p)]


class _Value(ctypes.Union):
    _fields_ = [("text", ctypes.c_void_p), ("number", ctypes.c_int64), ("real", ctypes.c_float),
                ("flag", ctypes.c_bool)]


class _NamedValue(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t), ("type", ctypes.c_int),
                ("value", _Value), ("value_size", ctypes.c_size_t)]

    def decode(self):
        if self.type == 0:
            return ctypes.string_at(self.value.text, self.value_size).decode()
        if self.type == 2:
            numbers = ctypes.cast(self.value.text, ctypes.POINTER(ctypes.c_int64))
            return tuple(numbers[: self.value_size])
        return {1: self.value.number, 3: self.value.real, 4: self.value.flag}.get(self.type)


class _Attributes(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("items", ctypes.POINTER(_NamedValue)), ("count", ctypes.c_size_t)]


def library_info(path):
    """The PJRT version and the plugin attributes of a library, as a dict."""
    try:
        get_api = ctypes.CDLL(path).GetPjrtApi
    except (OSError, AttributeError) as error:
        raise LibraryError(f"{path} cannot be used as a PJRT plugin: {error}") from error
    get_api.restype = ctypes.POINTER(_Api)
    api = get_api().contents
    info = {"pjrt_api_version": (api.major, api.minor)}
    if api.struct_size >= ctypes.sizeof(_Api) and api.plugin_attributes:
        call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Attributes))(api.plugin_attributes)
        args = _Attributes(struct_size=ctypes.sizeof(_Attributes))
        if not call(ctypes.byref(args)):
            for item in args.items[: args.count]:
                info[item.name[: item.name_size].decode()] = item.decode()
    return info


def checked_library_path():
    """library_path() of a library that is compatible with this package."""
    path = library_path()
    major, minor = library_info(path)["pjrt_api_version"]
    if major != PJRT_MAJOR or minor < PJRT_MIN_MINOR:
        raise LibraryError(f"{path} implements PJRT {major}.{minor}; this package needs "
                           f"{PJRT_MAJOR}.{PJRT_MIN_MINOR} or newer: rebuild it with `make all`")
    return path
