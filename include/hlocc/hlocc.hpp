// SPDX-License-Identifier: Apache-2.0
//
// hlocc for C++17: owning types over hlocc.h, whose comments hold here. Errors are exceptions.
//
//   hlocc::client client;
//   hlocc::executable twice = client.load_file("twice.mlir");
//   std::vector<float> in = {1, 2, 3, 4};
//   hlocc::buffer a = hlocc::buffer::copy_of(client, {4}, in.data());
//   hlocc::buffer b = std::move(twice.launch({&a})[0]);   // returns at once
//   for (float x : b.map<float>()) ...                     // waits, copies nothing
#ifndef HLOCC_HLOCC_HPP_
#define HLOCC_HLOCC_HPP_

#include <chrono>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hlocc/hlocc.h"

namespace hlocc {

/// A fault of an error, with its own strings.
struct fault {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string operation, text;
};

class error : public std::runtime_error {
 public:
  explicit error(const hlocc_error_t* from)
      : std::runtime_error(hlocc_error_message(from)), code_(hlocc_error_code(from)) {
    for (uint32_t i = 0; i < hlocc_error_fault_count(from); ++i) {
      const hlocc_fault_t at = hlocc_error_fault(from, i);
      faults_.push_back({at.file, at.line, at.column, at.operation, at.text});
    }
  }
  hlocc_code_t code() const noexcept { return code_; }
  const std::vector<fault>& faults() const noexcept { return faults_; }

 private:
  hlocc_code_t code_;
  std::vector<fault> faults_;
};

namespace detail {

template <class T, void (*Free)(T*)>
struct deleter {
  void operator()(T* object) const noexcept { Free(object); }
};
template <class T, void (*Free)(T*)>
using handle = std::unique_ptr<T, deleter<T, Free>>;

/// Throws the error (taken) unless it is null.
inline void check(hlocc_error_t* found) {
  if (!found) return;
  const handle<hlocc_error_t, hlocc_error_free> owner(found);
  throw error(found);
}

}  // namespace detail

/// Returns the element type for a type of C++.
template <class T>
constexpr hlocc_type_t type_of() {
  if constexpr (std::is_same_v<T, bool>) return HLOCC_TYPE_PRED;
  if constexpr (std::is_same_v<T, int8_t>) return HLOCC_TYPE_S8;
  if constexpr (std::is_same_v<T, int16_t>) return HLOCC_TYPE_S16;
  if constexpr (std::is_same_v<T, int32_t>) return HLOCC_TYPE_S32;
  if constexpr (std::is_same_v<T, int64_t>) return HLOCC_TYPE_S64;
  if constexpr (std::is_same_v<T, uint8_t>) return HLOCC_TYPE_U8;
  if constexpr (std::is_same_v<T, uint16_t>) return HLOCC_TYPE_U16;
  if constexpr (std::is_same_v<T, uint32_t>) return HLOCC_TYPE_U32;
  if constexpr (std::is_same_v<T, uint64_t>) return HLOCC_TYPE_U64;
  if constexpr (std::is_same_v<T, float>) return HLOCC_TYPE_F32;
  if constexpr (std::is_same_v<T, double>) return HLOCC_TYPE_F64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return HLOCC_TYPE_C64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return HLOCC_TYPE_C128;
  return HLOCC_TYPE_INVALID;
}

using dims = std::vector<int64_t>;

inline hlocc_shape_t shape_of(hlocc_type_t type, const dims& sizes) {
  hlocc_shape_t shape = {};
  shape.type = type;
  shape.rank = static_cast<uint32_t>(sizes.size());
  shape.dims = sizes.data();
  return shape;
}

class event {
 public:
  event() = default;
  explicit event(hlocc_event_t* taken) : handle_(taken) {}
  hlocc_event_t* get() const noexcept { return handle_.get(); }
  bool is_ready() const { return hlocc_event_is_ready(get()); }
  /// Throws the error of the work.
  void wait() const { detail::check(hlocc_event_wait(get(), HLOCC_FOREVER)); }
  /// Returns false if the event is still pending after the time; throws the error of the work.
  bool wait_for(std::chrono::nanoseconds time) const {
    hlocc_error_t* found = hlocc_event_wait(get(), static_cast<uint64_t>(time.count()));
    if (found && !is_ready()) {
      hlocc_error_free(found);
      return false;
    }
    detail::check(found);
    return true;
  }
  /// Calls once, with null if the work succeeded. The function must not throw.
  void on_ready(std::function<void(const hlocc_error_t*)> function) const {
    auto kept = std::make_unique<std::function<void(const hlocc_error_t*)>>(std::move(function));
    detail::check(hlocc_event_on_ready(
        get(),
        [](void* context, const hlocc_error_t* found) {
          const std::unique_ptr<std::function<void(const hlocc_error_t*)>> owner(
              static_cast<std::function<void(const hlocc_error_t*)>*>(context));
          (*owner)(found);
        },
        kept.get()));
    (void)kept.release();
  }

 private:
  detail::handle<hlocc_event_t, hlocc_event_free> handle_;
};

class executable;

class client {
 public:
  /// 0: the defaults of the library.
  explicit client(uint32_t device_count = 0, uint32_t thread_count = 0) {
    hlocc_client_options_t options = {};
    options.struct_size = sizeof options;
    options.device_count = device_count;
    options.thread_count = thread_count;
    create(options);
  }
  explicit client(const hlocc_client_options_t& options) { create(options); }
  hlocc_client_t* get() const noexcept { return handle_.get(); }
  uint32_t device_count() const { return hlocc_client_device_count(get()); }
  executable load(std::string_view program, hlocc_compile_options_t options = {}) const;
  executable load_file(const std::string& path, hlocc_compile_options_t options = {}) const;

 private:
  void create(const hlocc_client_options_t& options) {
    hlocc_client_t* made = nullptr;
    detail::check(hlocc_client_create(&options, &made));
    handle_.reset(made);
  }
  detail::handle<hlocc_client_t, hlocc_client_free> handle_;
};

/// The elements of a buffer, where they are, until the object ends. T const: for reading.
template <class T>
class mapping {
 public:
  explicit mapping(hlocc_buffer_t* buffer) : buffer_(buffer) {
    void* data = nullptr;
    detail::check(
        hlocc_buffer_map(buffer, std::is_const_v<T> ? HLOCC_READ : HLOCC_READ_WRITE, &data));
    data_ = static_cast<T*>(data);
    size_ = hlocc_buffer_shape(buffer).size_bytes / sizeof(T);
  }
  mapping(mapping&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)), data_(other.data_), size_(other.size_) {}
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() {
    if (buffer_) hlocc_buffer_unmap(buffer_);
  }
  T* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](size_t index) const noexcept { return data_[index]; }

 private:
  hlocc_buffer_t* buffer_;
  T* data_ = nullptr;
  size_t size_ = 0;
};

class buffer {
 public:
  buffer() = default;
  explicit buffer(hlocc_buffer_t* taken) : handle_(taken) {}
  /// Leaves the elements undefined, for map_mutable().
  template <class T>
  static buffer create(const client& on, const dims& sizes, uint32_t device = 0) {
    const hlocc_shape_t shape = shape_of(type_of<T>(), sizes);
    hlocc_buffer_t* made = nullptr;
    detail::check(hlocc_buffer_create(on.get(), device, &shape, &made));
    return buffer(made);
  }
  template <class T>
  static buffer copy_of(const client& on, const dims& sizes, const T* data, uint32_t device = 0) {
    const hlocc_shape_t shape = shape_of(type_of<T>(), sizes);
    hlocc_buffer_t* made = nullptr;
    detail::check(hlocc_buffer_create_copy(on.get(), device, &shape, data, &made));
    return buffer(made);
  }
  /// Lends memory; `release` (may be empty, must not throw) is called after its last use. T const:
  /// the library only reads it.
  template <class T>
  static buffer wrap(const client& on, const dims& sizes, T* data, std::function<void()> release,
                     uint32_t device = 0) {
    const hlocc_shape_t shape = shape_of(type_of<std::remove_const_t<T>>(), sizes);
    const hlocc_access_t access = std::is_const_v<T> ? HLOCC_READ : HLOCC_READ_WRITE;
    auto kept = std::make_unique<std::function<void()>>(std::move(release));
    hlocc_buffer_t* made = nullptr;
    detail::check(hlocc_buffer_wrap(
        on.get(), device, &shape, const_cast<std::remove_const_t<T>*>(data), access,
        [](void* context) {
          const std::unique_ptr<std::function<void()>> owner(
              static_cast<std::function<void()>*>(context));
          if (*owner) (*owner)();
        },
        kept.get(), &made));
    (void)kept.release();
    return buffer(made);
  }

  hlocc_buffer_t* get() const noexcept { return handle_.get(); }
  hlocc_shape_t shape() const { return hlocc_buffer_shape(get()); }
  bool is_donated() const { return hlocc_buffer_is_donated(get()); }
  event ready() const {
    hlocc_event_t* made = nullptr;
    detail::check(hlocc_buffer_ready(get(), &made));
    return event(made);
  }
  template <class T>
  mapping<const T> map() const {
    check_type<T>();
    return mapping<const T>(get());
  }
  template <class T>
  mapping<T> map_mutable() {
    check_type<T>();
    return mapping<T>(get());
  }
  template <class T>
  std::vector<T> to_vector() const {
    const mapping<const T> elements = map<T>();
    return std::vector<T>(elements.begin(), elements.end());
  }

 private:
  template <class T>
  void check_type() const {
    if (shape().type != type_of<T>()) {
      throw std::invalid_argument(std::string("the buffer has elements of type ") +
                                  hlocc_type_name(shape().type));
    }
  }
  detail::handle<hlocc_buffer_t, hlocc_buffer_free> handle_;
};

class executable {
 public:
  explicit executable(hlocc_executable_t* taken) : handle_(taken) {}
  hlocc_executable_t* get() const noexcept { return handle_.get(); }
  uint32_t device_count() const { return hlocc_executable_device_count(get()); }
  uint32_t argument_count() const { return hlocc_executable_argument_count(get()); }
  uint32_t result_count() const { return hlocc_executable_result_count(get()); }
  hlocc_shape_t argument(uint32_t index) const { return hlocc_executable_argument(get(), index); }
  hlocc_shape_t result(uint32_t index) const { return hlocc_executable_result(get(), index); }
  /// What a device has of an array: the place of its first element in the whole, and the whole's
  /// dimensions.
  struct part {
    dims offsets, whole;
  };
  part argument_part(uint32_t index, uint32_t device = 0) const {
    return find_part(hlocc_executable_argument_part, argument(index).rank, index, device);
  }
  part result_part(uint32_t index, uint32_t device = 0) const {
    return find_part(hlocc_executable_result_part, result(index).rank, index, device);
  }
  /// Launches the program on all its devices: the arguments and results of device 0 come first. end
  /// (may be null) gets the event of the launch.
  std::vector<buffer> launch(const std::vector<const buffer*>& arguments, event* end = nullptr,
                             const hlocc_launch_options_t* options = nullptr) const {
    const size_t devices = device_count();
    if (arguments.size() != devices * argument_count()) {
      throw std::invalid_argument(
          "the program has " + std::to_string(devices * argument_count()) + " arguments on " +
          std::to_string(devices) + " devices, found " + std::to_string(arguments.size()));
    }
    std::vector<hlocc_buffer_t*> in, out(devices * result_count());
    for (const buffer* argument : arguments) in.push_back(argument->get());
    std::vector<buffer> results(out.size());  // nothing can fail once the program runs
    hlocc_event_t* made = nullptr;
    detail::check(
        hlocc_executable_launch(get(), in.data(), options, out.data(), end ? &made : nullptr));
    for (size_t i = 0; i < out.size(); ++i) results[i] = buffer(out[i]);
    if (end) *end = event(made);
    return results;
  }

 private:
  using find_t = hlocc_error_t* (*)(const hlocc_executable_t*, uint32_t, uint32_t, int64_t*,
                                    int64_t*);
  part find_part(find_t find, uint32_t rank, uint32_t index, uint32_t device) const {
    part found{dims(rank), dims(rank)};
    detail::check(find(get(), index, device, found.offsets.data(), found.whole.data()));
    return found;
  }
  detail::handle<hlocc_executable_t, hlocc_executable_free> handle_;
};

inline executable client::load(std::string_view program, hlocc_compile_options_t options) const {
  if (!options.struct_size) options.struct_size = sizeof options;
  hlocc_executable_t* made = nullptr;
  detail::check(hlocc_executable_load(get(), program.data(), program.size(), &options, &made));
  return executable(made);
}

inline executable client::load_file(const std::string& path,
                                    hlocc_compile_options_t options) const {
  if (!options.struct_size) options.struct_size = sizeof options;
  hlocc_executable_t* made = nullptr;
  detail::check(hlocc_executable_load_file(get(), path.c_str(), &options, &made));
  return executable(made);
}

}  // namespace hlocc

#endif  // HLOCC_HLOCC_HPP_
