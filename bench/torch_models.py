# SPDX-License-Identifier: Apache-2.0
"""The models and convolutions of the stored programs as PyTorch users write them."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, WORDS, LAYERS = 256, 4, 1000, 4


def channels_last(array):
    """NHWC values as PyTorch holds them best."""
    return torch.from_numpy(np.ascontiguousarray(array)).permute(0, 3, 1, 2)


def filters(array):
    """HWIO filters."""
    return torch.from_numpy(array).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def convolution(arguments, groups=1):
    x, w = channels_last(arguments[0]), filters(arguments[1])
    return lambda: F.conv2d(x, w, padding=1, groups=groups)


def convolution_gradients(arguments):
    x, w, dy = channels_last(arguments[0]), filters(arguments[1]), channels_last(arguments[2])
    return lambda: torch.ops.aten.convolution_backward(
        dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])


def transposed_convolution(arguments):
    x, w = torch.from_numpy(arguments[0]).mT.contiguous(), torch.from_numpy(arguments[1])
    w = w.permute(1, 2, 0).contiguous()
    return lambda: F.conv_transpose1d(x, w, stride=8, padding=4)


def max_pool(arguments):
    x = channels_last(arguments[0])
    return lambda: F.max_pool2d(x, 2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = [t.view(batch, length, HEADS, -1).transpose(1, 2)
                 for t in self.qkv(self.norm1(x)).chunk(3, -1)]
        a = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(torch.randn(length, WIDTH) * 0.02)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])

    def forward(self, tokens):
        return self.layers(self.words(tokens) + self.places) @ self.words.weight.T


def tokens_of(arguments):
    (tokens,) = [a for a in arguments if a.ndim == 2 and np.issubdtype(a.dtype, np.integer)]
    return torch.from_numpy(tokens.astype(np.int64))


def transformer(arguments):
    tokens = tokens_of(arguments)
    model = Transformer(tokens.shape[1]).eval()

    def run():
        with torch.no_grad():
            return model(tokens)
    return run


def training(model, optimizer, loss):
    """One step of training."""
    def run():
        optimizer.zero_grad(set_to_none=True)
        value = loss(model)
        value.backward()
        optimizer.step()
        return value
    return run


def transformer_training(arguments):
    tokens = tokens_of(arguments)
    model = Transformer(tokens.shape[1])
    return training(model, torch.optim.Adam(model.parameters(), 1e-3), lambda m: F.cross_entropy(
        m(tokens)[:, :-1].reshape(-1, WORDS), tokens[:, 1:].reshape(-1)))


def mlp_training(_):
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                          nn.Linear(256, 10))
    x, labels = torch.randn(128, 64), torch.randint(0, 10, (128,))
    return training(model, torch.optim.Adam(model.parameters(), 1e-3),
                    lambda m: F.cross_entropy(m(x), labels))


def cnn_training(_):
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
                          nn.Linear(512, 10))
    x, labels = torch.randn(128, 1, 8, 8), torch.randint(0, 10, (128,))
    return training(model, torch.optim.SGD(model.parameters(), 0.1),
                    lambda m: F.cross_entropy(m(x), labels))


def lstm(arguments):
    model, x = nn.LSTM(128, 128), torch.from_numpy(arguments[2])

    def run():
        with torch.no_grad():
            return model(x)[0]
    return run


MODELS = {
    "cnn_small_train": cnn_training,
    "conv1d_transposed": transposed_convolution,
    "conv3x3_bwd": convolution_gradients,
    "conv3x3_fwd": convolution,
    "conv_depthwise3x3": lambda arguments: convolution(arguments, groups=64),
    "lstm_scan_128": lstm,
    "maxpool2x2": max_pool,
    "mlp_train_digits": mlp_training,
    "transformer_fwd": transformer,
    "transformer_train": transformer_training,
}
