// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels of integers of every width and of booleans.
// source: StableHLO specification, "Operations"; division by zero and large shifts as XLA
#include <stdbool.h>
#include <stdint.h>

#include "interp/kernels_impl.h"

#define KERNEL_TYPE S2
#define T int8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 2u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE S4
#define T int8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 4u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE S8
#define T int8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 8u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE S16
#define T int16_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 16u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE S32
#define T int32_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 32u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE S64
#define T int64_t
#define WIDE uint64_t
#define SIGNED_WIDE int64_t
#define BITS 64u
#define IS_SIGNED 1
#include "interp/ref_int.inl"
#define KERNEL_TYPE U2
#define T uint8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 2u
#define IS_SIGNED 0
#include "interp/ref_int.inl"
#define KERNEL_TYPE U4
#define T uint8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 4u
#define IS_SIGNED 0
#include "interp/ref_int.inl"
#define KERNEL_TYPE U8
#define T uint8_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 8u
#define IS_SIGNED 0
#include "interp/ref_int.inl"
#define KERNEL_TYPE U16
#define T uint16_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 16u
#define IS_SIGNED 0
#include "interp/ref_int.inl"
#define KERNEL_TYPE U32
#define T uint32_t
#define WIDE uint32_t
#define SIGNED_WIDE int32_t
#define BITS 32u
#define IS_SIGNED 0
#include "interp/ref_int.inl"
#define KERNEL_TYPE U64
#define T uint64_t
#define WIDE uint64_t
#define SIGNED_WIDE int64_t
#define BITS 64u
#define IS_SIGNED 0
#include "interp/ref_int.inl"

#define KERNEL_TYPE PRED
#define T uint8_t
#include "interp/ref_pred.inl"
