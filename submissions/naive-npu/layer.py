"""NaiveNPU, the unit of powers of the NPU paper without its gate, arXiv:2006.01681.

    y = exp(R log r - I k) cos(R k + I log r),    r = |x| + eps,    k = pi where x < 0, else 0

R starts as Glorot's uniform numbers, I at 0.
"""

import math

import torch


class NaiveNPU(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.R = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.I = torch.nn.Parameter(torch.zeros(in_features, out_features))
        torch.nn.init.xavier_uniform_(self.R)

    def forward(self, x):
        log_r = (x.abs() + torch.finfo(x.dtype).eps).log()
        k = math.pi * (x < 0).to(x.dtype)
        size = (log_r @ self.R - k @ self.I).exp()
        return size * torch.cos(k @ self.R + log_r @ self.I)
