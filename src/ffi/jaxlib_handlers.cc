// SPDX-License-Identifier: Apache-2.0
// Handlers as users write them: in C++, against the headers that come with jaxlib. They prove that
// our declaration of the ABI is that of the headers. Called by handlers_jaxlib_test.c.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

// The facts of abi_test.c, for the headers of jaxlib.
#if XLA_FFI_API_MINOR < 4
#define FFI_BEFORE_0_4
#define XLA_FFI_InternalExtension XLA_FFI_Extension_Base
#define XLA_FFI_InternalExtension_STRUCT_SIZE XLA_FFI_Extension_Base_STRUCT_SIZE
#define XLA_FFI_Error_GetDetails_Args XLA_FFI_Error_GetMessage_Args
#define XLA_FFI_Error_GetDetails XLA_FFI_Error_GetMessage
#define XLA_FFI_InvokeContext_Get_Args XLA_FFI_ExecutionContext_Get_Args
#define XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE
#define XLA_FFI_InvokeContext_Get XLA_FFI_ExecutionContext_Get
#endif
#define _Static_assert static_assert
#include "ffi_abi_checks.inc"

namespace ffi = xla::ffi;

enum class Mode : int32_t { kAdd = 0, kSubtract = 1 };
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);

struct Range {
  int64_t low;
  int64_t high;
};
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Range, ffi::StructMember<int64_t>("low"),
                                      ffi::StructMember<int64_t>("high"));

// ---- arguments, results, attributes

// out = sum of all arguments, or the first minus the others; times `factor`.
static ffi::Error Combine(ffi::Buffer<ffi::F32> first, ffi::RemainingArgs others,
                          ffi::Result<ffi::AnyBuffer> out, Mode mode, double factor, bool flag,
                          std::string_view label, ffi::Span<const int64_t> sizes, Range range,
                          ffi::Dictionary options) {
  if (!flag || label != "a label" || sizes.size() != 2 || sizes[1] != 7 || range.low != -4 ||
      range.high != 4) {
    return ffi::Error::InvalidArgument("attributes are wrong");
  }
  auto depth = options.get<uint8_t>("depth");
  if (options.size() != 2 || !options.contains("name") || !depth.has_value() || *depth != 9) {
    return ffi::Error::InvalidArgument("the dictionary is wrong");
  }
  if (out->dimensions().size() != 2 || out->element_type() != ffi::F32 ||
      out->element_count() != first.element_count()) {
    return ffi::Error::InvalidArgument("the result is wrong");
  }
  float* to = out->typed_data<float>();
  std::memcpy(to, first.typed_data(), first.size_bytes());
  for (size_t i = 0; i < others.size(); ++i) {
    auto other = others.get<ffi::AnyBuffer>(i);
    if (other.has_error()) return other.error();
    const float* from = other->typed_data<float>();
    for (size_t j = 0; j < other->element_count(); ++j) {
      to[j] += mode == Mode::kAdd ? from[j] : -from[j];
    }
  }
  for (size_t j = 0; j < out->element_count(); ++j) to[j] *= static_cast<float>(factor);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_combine, Combine,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .RemainingArgs()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<Mode>("mode")
                                  .Attr<double>("factor")
                                  .Attr<bool>("flag")
                                  .Attr<std::string_view>("label")
                                  .Attr<ffi::Span<const int64_t>>("sizes")
                                  .Attr<Range>("range")
                                  .Attr<ffi::Dictionary>("options"),
                              {ffi::Traits::kCmdBufferCompatible});

static ffi::Error Fail(ffi::Token, int64_t code) {
  return ffi::Error(static_cast<ffi::ErrorCode>(code), "said the handler");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_fail, Fail,
                              ffi::Ffi::Bind().Arg<ffi::Token>().Attr<int64_t>("code"));

// ---- errors, as XLA's internal headers declare them

// absl's representation of a status.
struct Representation {
  std::atomic<int32_t> owners;
  int32_t code;
  std::string message;
  std::unique_ptr<std::string> payloads;
};

struct XLA_FFI_Error {
  uintptr_t status;
};

// Objects of C++ come from malloc() here, which the sanitizer would report.
extern "C" const char* __asan_default_options() {
  return "alloc_dealloc_mismatch=0:new_delete_type_mismatch=0";
}

// Moves the status out, deletes the error, then the status. Returns the code, or -1.
extern "C" int hlo_test_take_status(XLA_FFI_Error* error, char* message, size_t message_size) {
  uintptr_t status = error->status;
  error->status = 1;
  delete error;
  if (status & 1) return -1;
  auto* representation = reinterpret_cast<Representation*>(status);
  int code = representation->code;
  std::snprintf(message, message_size, "%s", representation->message.c_str());
  if (representation->payloads || representation->owners.fetch_sub(1) != 1) return -1;
  representation->message += " grows when more is appended to it";
  delete representation;
  return code;
}

// ---- states, user data, context

struct Session {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  explicit Session(int64_t start) : start(start) { ++alive; }
  ~Session() { --alive; }
  int64_t start;
  static int64_t alive;
};
ffi::TypeId Session::id = {};
ffi::TypeInfo Session::info = ffi::MakeTypeInfo<Session>();
int64_t Session::alive = 0;

struct Listener {
  static ffi::TypeId id;
  int64_t calls;
};
ffi::TypeId Listener::id = {};

extern "C" int64_t hlo_test_sessions_alive() {
  return Session::alive;
}

extern "C" XLA_FFI_Error* hlo_test_register_types(const XLA_FFI_Api* api, int64_t* listener_type) {
  static const ffi::TypeInfo listener_info = {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr, nullptr};
  XLA_FFI_Error* error = ffi::Ffi::RegisterTypeId(api, "session", &Session::id, Session::info);
  if (!error) error = ffi::Ffi::RegisterTypeId(api, "listener", &Listener::id, listener_info);
  *listener_type = Listener::id.type_id;
  return error;
}

static ffi::ErrorOr<std::unique_ptr<Session>> Open(int64_t start) {
  if (start < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("cannot start below 0"));
  return std::make_unique<Session>(start);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_open, Open,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));

static ffi::ErrorOr<std::unique_ptr<Session>> Prepare() {
  return std::make_unique<Session>(1000);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_prepare, Prepare, ffi::Ffi::BindPrepare());

static ffi::Error Use(Session* session, Session* prepared, Listener* listener,
                      ffi::ScratchAllocator scratch, ffi::RunId run, int32_t device, int64_t start,
                      ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  if (session->start != start) return ffi::Error::Internal("another session");
  auto memory = scratch.Allocate(1 << 20, 16);
  if (!memory) return ffi::Error::Internal("no memory");
  std::memset(*memory, 0, 1 << 20);
  ++listener->calls;
  *out->typed_data() = session->start + prepared->start + run.run_id + device;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_use, Use,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::State<Session>>()
                                  .Ctx<ffi::Prepared<Session>>()
                                  .Ctx<ffi::UserData<Listener>>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Ctx<ffi::RunId>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Attr<int64_t>("start")
                                  .Ret<ffi::BufferR0<ffi::S64>>());

static ffi::Error Stream(void*) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_stream, Stream,
                              ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>());

// ---- futures

// Each element by a task of its own.
static ffi::Future Square(ffi::ThreadPool pool, ffi::BufferR1<ffi::S32> in, bool fails,
                          ffi::Result<ffi::BufferR1<ffi::S32>> out) {
  const int32_t* from = in.typed_data();
  int32_t* to = out->typed_data();
  ffi::CountDownPromise promise(static_cast<int64_t>(in.element_count()));
  ffi::Future future(promise);
  for (size_t i = 0; i < in.element_count(); ++i) {
    pool.Schedule([=]() mutable {
      to[i] = from[i] * from[i];
      if (fails) {
        promise.CountDown(ffi::Error(ffi::ErrorCode::kDataLoss, "a task failed"));
      } else {
        promise.CountDown();
      }
    });
  }
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(hlo_test_square, Square,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::BufferR1<ffi::S32>>()
                                  .Attr<bool>("fails")
                                  .Ret<ffi::BufferR1<ffi::S32>>());
