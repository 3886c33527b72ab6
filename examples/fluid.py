#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shear layer that rolls up into vortices: the Navier-Stokes equations in two dimensions, by FFT.

    JAX_PLATFORMS=hlocc python examples/fluid.py --png fluid.png --compare

The vorticity w of a periodic, incompressible flow obeys dw/dt + u . grad w = viscosity * laplace w, and its
stream function p, u = (dp/dy, -dp/dx), solves laplace p = -w. Derivatives are products in Fourier space
(Canuto et al., Spectral Methods, 2006); products are formed on the grid and cut off at two thirds of
the highest wave number.
"""
import argparse
import pathlib
import struct
import zlib

import jax
import jax.numpy as jnp
import numpy as np

import compare

VISCOSITY, TIME_STEP = 2e-4, 2e-3
FRAMES = 6


def wave_numbers(size):
    ky = np.fft.fftfreq(size, 1 / size)[:, None]
    kx = np.fft.rfftfreq(size, 1 / size)[None, :]
    return 2 * np.pi * kx, 2 * np.pi * ky


def make_advance(size, steps):
    """Returns a function that advances the Fourier coefficients of the vorticity by `steps` time steps."""
    kx, ky = (jnp.asarray(k, jnp.float32) for k in wave_numbers(size))
    square = kx**2 + ky**2
    inverse = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))
    kept = (abs(kx) < 2 * np.pi * size / 3) & (abs(ky) < 2 * np.pi * size / 3)
    decay = jnp.exp(-VISCOSITY * square * TIME_STEP)

    def advection(w):
        stream = w * inverse
        u, v, wx, wy = (jnp.fft.irfft2(c) for c in (1j * ky * stream, -1j * kx * stream, 1j * kx * w, 1j * ky * w))
        return -jnp.fft.rfft2(u * wx + v * wy) * kept

    def step(_, w):  # Heun's method; the viscous term exactly
        slope = advection(w)
        guess = decay * (w + TIME_STEP * slope)
        return decay * (w + TIME_STEP / 2 * slope) + TIME_STEP / 2 * advection(guess)

    return jax.jit(lambda w: jax.lax.fori_loop(0, steps, step, w))


def shear_layers(size):
    """The vorticity of two opposite jets with a small wave."""
    y, x = np.meshgrid(np.arange(size) / size, np.arange(size) / size, indexing="ij")
    wave = 0.02 * np.sin(4 * np.pi * x) + 0.005 * np.sin(6 * np.pi * x)
    layer = lambda at: 1 / np.cosh(30 * (y - at + wave)) ** 2
    return (30 * (layer(0.75) - layer(0.25))).astype(np.float32)


def colors(field):
    """Red for positive vorticity, blue for negative, white for zero; uint8[height, width, 3]."""
    scaled = np.clip(field / 30, -1, 1)[..., None]
    red, white, blue = np.array([180, 20, 40]), np.array([250, 250, 250]), np.array([20, 60, 170])
    return (white + np.where(scaled > 0, scaled * (red - white), -scaled * (blue - white))).astype(np.uint8)


def write_png(path, pixels):
    """Writes uint8[height, width, 3] as PNG (ISO/IEC 15948): every line without a filter."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=192, help="grid points along each side")
    parser.add_argument("--steps", type=int, default=120, help="time steps between two pictures")
    parser.add_argument("--png", type=pathlib.Path, default=pathlib.Path("fluid.png"))
    compare.add_option(parser)
    args = parser.parse_args()
    print(f"{compare.platform()}: {args.size} x {args.size} points", flush=True)
    advance, stopwatch = make_advance(args.size, args.steps), compare.Stopwatch()
    vorticity = jnp.fft.rfft2(shear_layers(args.size))
    pictures = []
    for frame in range(FRAMES):
        field = np.asarray(jnp.fft.irfft2(vorticity))
        assert np.isfinite(field).all(), "the flow is not resolved: take a smaller time step"
        print(f"time {frame * args.steps * TIME_STEP:5.2f}  enstrophy {np.mean(field**2) / 2:7.2f}", flush=True)
        pictures.append(colors(field))
        vorticity = stopwatch(advance, vorticity)
    write_png(args.png, np.concatenate([np.concatenate(pictures[:3], axis=1), np.concatenate(pictures[3:], axis=1)]))
    print(f"vorticity at those times: {args.png}")
    compare.finish(stopwatch, args.compare)


if __name__ == "__main__":
    main()
