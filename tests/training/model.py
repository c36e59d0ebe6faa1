"""A byte-level language model: small enough that four of them share two cores."""

import torch
from torch import nn


class ByteModel(nn.Module):
    """Predicts each byte from those before it: an embedding, one causal attention block, a projection."""

    def __init__(self, width=64, heads=4, context=64):
        super().__init__()
        self.bytes = nn.Embedding(256, width)
        self.places = nn.Parameter(torch.randn(context, width) * 0.02)
        self.before = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.between = nn.LayerNorm(width)
        self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.after = nn.LayerNorm(width)
        self.head = nn.Linear(width, 256)
        # Not a buffer: DDP would broadcast a buffer in each forward pass, and that wait would look like compute.
        self.mask = torch.triu(torch.full((context, context), float("-inf")), diagonal=1)

    def forward(self, batch):
        x = self.bytes(batch) + self.places
        y = self.before(x)
        x = x + self.attention(y, y, y, attn_mask=self.mask, need_weights=False)[0]
        x = x + self.mix(self.between(x))
        return self.head(self.after(x))
