# SPDX-License-Identifier: Apache-2.0
"""A rule for jax.nn.scaled_matmul, which JAX itself lowers for GPUs only.

Narrow floats become jax.lax.scaled_dot, one operation of the program; other clients of the platform
`cpu` call its decomposition. Wider elements or scales are multiplied in the type of the result.
"""


def register(jax):
    """Registers the rule for the platform `cpu`. Does nothing for a JAX without these functions."""
    try:
        from jax._src.cudnn.scaled_matmul_stablehlo import _scaled_matmul_p
        from jax._src.interpreters import mlir
        from jax.lax import scaled_dot
    except ImportError:
        return
    jnp = jax.numpy
    dimensions = (((2,), (2,)), ((0,), (0,)))  # [B, M, K] times [B, N, K]

    def is_narrow(array):
        return jnp.issubdtype(array.dtype, jnp.floating) and jnp.finfo(array.dtype).bits <= 8

    def scaled(array, scales, dtype):
        repeated = jnp.repeat(scales.astype(dtype), array.shape[2] // scales.shape[2], axis=2)
        return array.astype(dtype) * repeated

    def multiply(lhs, rhs, lhs_scales, rhs_scales, *, preferred_element_type):
        pairs = ((lhs, lhs_scales), (rhs, rhs_scales))
        if all(is_narrow(array) and is_narrow(scales) and array.shape[2] >= 2 * scales.shape[2]
               for array, scales in pairs):
            return scaled_dot(lhs, rhs, lhs_scale=lhs_scales, rhs_scale=rhs_scales,
                              dimension_numbers=dimensions,
                              preferred_element_type=preferred_element_type)
        factors = [scaled(*pair, preferred_element_type) for pair in pairs]
        return jax.lax.dot_general(*factors, dimensions,
                                   preferred_element_type=preferred_element_type)

    mlir.register_lowering(_scaled_matmul_p, mlir.lower_fun(multiply, multiple_results=False),
                           platform="cpu")
