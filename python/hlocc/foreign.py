# SPDX-License-Identifier: Apache-2.0
"""Foreign functions of custom calls: hands JAX's FFI handlers and Python callbacks to the library.

JAX registers handlers for the platform "cpu" with XLA's client, inside jaxlib. connect() registers
each of them with hlocc as well: those that jaxlib has already, and all later ones.
"""
import ctypes
import math
import traceback

import ml_dtypes
import numpy

from hlocc.library import API_HEAD

STAGES = ("instantiate", "prepare", "initialize", "execute")

# By XLA's numbers of element types.
_DTYPES = {number: numpy.dtype(dtype) for number, dtype in {
    1: numpy.bool_, 2: numpy.int8, 3: numpy.int16, 4: numpy.int32, 5: numpy.int64, 6: numpy.uint8,
    7: numpy.uint16, 8: numpy.uint32, 9: numpy.uint64, 10: numpy.float16, 11: numpy.float32,
    12: numpy.float64, 15: numpy.complex64, 16: ml_dtypes.bfloat16, 18: numpy.complex128,
    19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4,
    22: ml_dtypes.uint4, 23: ml_dtypes.float8_e4m3b11fnuz, 24: ml_dtypes.float8_e5m2fnuz,
    25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2, 27: ml_dtypes.uint2,
    28: ml_dtypes.float8_e4m3, 29: ml_dtypes.float8_e3m4, 32: ml_dtypes.float4_e2m1fn,
    33: ml_dtypes.float8_e8m0fnu,
}.items()}
_TOKEN = 17
_PACKED_BITS = {21: 4, 22: 4, 26: 2, 27: 2, 32: 4}


class _Buffer(ctypes.Structure):
    """XLA_FFI_Buffer."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("dtype", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
                ("dims", ctypes.POINTER(ctypes.c_int64))]


_Buffers = ctypes.POINTER(ctypes.POINTER(_Buffer))
_Call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_int64, _Buffers, ctypes.c_int64,
                         _Buffers, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)


def _shape(buffer, dtype, bits):
    """The dimensions of a buffer and the number of its bytes."""
    dims = tuple(buffer.dims[: buffer.rank])
    count = math.prod(dims)
    return dims, (count * bits + 7) // 8 if bits else count * dtype.itemsize


def _unpack(packed, count, bits, dtype):
    shifts = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    codes = ((packed[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    if dtype in (ml_dtypes.int4, ml_dtypes.int2):
        sign = 1 << (bits - 1)
        return ((codes.astype(numpy.int8) ^ sign) - sign).astype(dtype)
    return codes.view(dtype)


def _pack(values, bits):
    codes = numpy.ascontiguousarray(values).reshape(-1).view(numpy.uint8) & ((1 << bits) - 1)
    width = 8 // bits
    codes = numpy.concatenate([codes, numpy.zeros(-codes.size % width, numpy.uint8)])
    shifts = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    return numpy.bitwise_or.reduce(codes.reshape(-1, width) << shifts, axis=1).astype(numpy.uint8)


def _dtype(number):
    if number not in _DTYPES:
        raise NotImplementedError(f"Python callbacks with elements of XLA's type {number}")
    return _DTYPES[number]


def _argument(buffer):
    """A read-only copy, which the callback may keep; None for a token."""
    if buffer.dtype == _TOKEN:
        return None
    dtype, bits = _dtype(buffer.dtype), _PACKED_BITS.get(buffer.dtype, 0)
    dims, size = _shape(buffer, dtype, bits)
    if size == 0:
        return numpy.empty(dims, dtype)
    copy = ctypes.string_at(buffer.data, size)
    if not bits:
        return numpy.frombuffer(copy, dtype).reshape(dims)
    array = _unpack(numpy.frombuffer(copy, numpy.uint8), math.prod(dims), bits, dtype)
    array.flags.writeable = False
    return array.reshape(dims)


def _store(value, buffer, position):
    if buffer.dtype == _TOKEN:
        return
    dtype, bits = _dtype(buffer.dtype), _PACKED_BITS.get(buffer.dtype, 0)
    dims, size = _shape(buffer, dtype, bits)
    value = numpy.asarray(value)
    if value.shape != dims or value.dtype != dtype:
        raise TypeError(f"result {position} of the callback is {value.dtype}{list(value.shape)}, "
                        f"expected {dtype}{list(dims)}")
    if size:
        value = _pack(value, bits) if bits else numpy.ascontiguousarray(value)
        ctypes.memmove(buffer.data, value.__array_interface__["data"][0], size)


def _call(callable_, argument_count, arguments, result_count, results, message, message_size):
    try:
        values = callable_(*[_argument(arguments[i].contents) for i in range(argument_count)])
        for i in range(result_count):
            _store(values[i], results[i].contents, i)
        return 0
    except BaseException as error:  # the program's error; nothing may leave through C
        text = "".join(traceback.format_exception(error)).encode()[: message_size - 1]
        ctypes.memmove(message, text + b"\0", len(text) + 1)
        return 1


_call_for_c = _Call(_call)


class _Span(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class _RegisterArgs(ctypes.Structure):
    """XLA_FFI_Handler_Register_Args of version 0.3: no stage `record`."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("name", _Span), ("platform", _Span), ("stages", ctypes.c_void_p * len(STAGES)),
                ("traits", ctypes.c_uint32)]


class _TypeInfo(ctypes.Structure):
    """XLA_FFI_TypeInfo."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


_NO_TYPE_INFO = _TypeInfo(ctypes.sizeof(_TypeInfo))


class _TypeArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("name", _Span), ("type_id", ctypes.c_void_p), ("type_info", ctypes.c_void_p)]


class _ErrorMessageArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p),
                ("error", ctypes.c_void_p), ("message", ctypes.c_char_p)]


class _Api(ctypes.Structure):
    """The head of XLA_FFI_Api, up to the entries that this module calls."""
    _fields_ = [*API_HEAD, ("internal", ctypes.c_void_p), ("error_create", ctypes.c_void_p),
                ("error_get_message", ctypes.c_void_p), ("error_destroy", ctypes.c_void_p),
                ("handler_register", ctypes.c_void_p), ("stream_get", ctypes.c_void_p),
                ("type_register", ctypes.c_void_p)]


_TYPE_REGISTER_BYTES = 40  # the size that every version states


def _pointer(capsule):
    """The address in a capsule, whatever its name."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))


def _span(text):
    data = text if isinstance(text, bytes) else text.encode()
    return _Span(data, len(data))


class Registry:
    """The foreign functions of the process, in a loaded plugin library."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._library.hlocc_ffi_api.restype = ctypes.POINTER(_Api)
        for function in (self._library.hlocc_ffi_register_untyped,
                         self._library.hlocc_python_callback_register):
            function.restype = ctypes.c_void_p
        self._library.hlocc_ffi_register_untyped.argtypes = [ctypes.c_char_p, ctypes.c_char_p,
                                                             ctypes.c_void_p]
        self._api = self._library.hlocc_ffi_api().contents

    def _function(self, address, args_type):
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(args_type))(address)

    def _check(self, error):
        if not error:
            return
        args = _ErrorMessageArgs(ctypes.sizeof(_ErrorMessageArgs), None, error, None)
        self._function(self._api.error_get_message, _ErrorMessageArgs)(ctypes.byref(args))
        text = args.message.decode()
        self._function(self._api.error_destroy, _ErrorMessageArgs)(ctypes.byref(args))
        raise RuntimeError(text)

    def add_callbacks(self):
        """Registers the handlers of Python callbacks."""
        self._check(self._library.hlocc_python_callback_register(_call_for_c))

    def add(self, name, function, platform="cpu", api_version=1, traits=0):
        """Registers a target: a capsule, or for each stage of STAGES one, as jax.ffi takes them."""
        if api_version == 0:
            self._check(self._library.hlocc_ffi_register_untyped(
                name if isinstance(name, bytes) else name.encode(), platform.encode(),
                _pointer(function)))
            return
        stages = function if isinstance(function, dict) else {"execute": function}
        args = _RegisterArgs(ctypes.sizeof(_RegisterArgs), None, _span(name), _span(platform))
        for i, stage in enumerate(STAGES):
            if stages.get(stage) is not None:
                args.stages[i] = _pointer(stages[stage])
        args.traits = int(traits)
        args.struct_size = _RegisterArgs.traits.offset + 4
        self._check(self._function(self._api.handler_register, _RegisterArgs)(ctypes.byref(args)))

    def add_type(self, name, type_id, type_info=None):
        """Registers a type of states; the capsule of its id is updated."""
        info = _pointer(type_info) if type_info is not None else ctypes.addressof(_NO_TYPE_INFO)
        args = _TypeArgs(_TYPE_REGISTER_BYTES, None, _span(name), _pointer(type_id), info)
        self._check(self._function(self._api.type_register, _TypeArgs)(ctypes.byref(args)))


# Their handlers in jaxlib need a state that only its own client makes; the library has its own.
_CALLBACK_TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")


def connect(path, xla_client):
    """Registers the handlers and types of JAX's platform "cpu" with a library, now and later."""
    registry = Registry(path)
    registry.add_callbacks()
    host = xla_client.xla_platform_names["cpu"]
    for name, function in xla_client.custom_call_targets(host).items():
        if name not in _CALLBACK_TARGETS:  # typed handlers come as stages, untyped functions do not
            registry.add(name, function, api_version=1 if isinstance(function, dict) else 0)

    def add_target(name, function, platform, api_version=0, traits=0):
        xla_client._xla.register_custom_call_target(name, function, platform, api_version, traits)
        registry.add(name, function, "cpu", api_version, traits)

    def add_type(name, registration):
        xla_client._xla.register_custom_type(name, registration)
        # A handler of XLA's client may have given the type its id by now; both use the same.
        registry.add_type(name, registration["type_id"], registration.get("type_info"))

    def add_type_id(name, type_id):
        xla_client._xla.register_custom_type_id(name, type_id)
        registry.add_type(name, type_id)

    xla_client._custom_callback_handler.pop(host, None)
    xla_client._custom_type_id_handler.pop(host, None)
    if hasattr(xla_client, "register_custom_type_handler"):
        xla_client.register_custom_type_handler("cpu", add_type)
    else:  # before jaxlib 0.8
        xla_client.register_custom_type_id_handler("cpu", add_type_id)
    xla_client.register_custom_call_handler("cpu", add_target)
