"""Gradients of everyday layers, forward and backward, against PyTorch's autograd without compiling, by one thread and by two: where training something that is none of the benchmark's networks would lose.
No goals: a look around.  Both sides begin with the same numbers, and all gradients are compared.

Of each: its parameters and their shapes, what else it is given, the result's shape, the result, and PyTorch's of the parameters a, b, c, d, e and the others by their names.  What comes from above is given, too."""
import ctypes, os, re, sys
import numpy as np
from common import HERE, Missing, Model, Worker, in_turns, least
from everyday import best, on_lines

CASES = {
    "linear, relu": ("x 256 | 784; w 784 -> 512; b 512", '', "256 | 512",
        'relu (w * x + b)',
        "F.relu(a @ b.t() + c)"),
    "784-512-512-10": ("x 256 | 784; w 784 -> 512; u 512 -> 512; v 512 -> 10", '', "256 | 10",
        'v * relu (u * relu (w * x))',
        "F.relu(F.relu(a @ b.t()) @ c.t()) @ d.t()"),
    "layer norm": ("x 1024 | 1024; s 1024; o 1024", '', "1024 | 1024",
        'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5) *. s + o',
        "F.layer_norm(a,(1024,),b,c)"),
    "layer norm 2048 x 384": ("x 2048 | 384; s 384; o 384", '', "2048 | 384",
        'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5) *. s + o',
        "F.layer_norm(a,(384,),b,c)"),
    "RMS norm": ("x 1024 | 1024; s 1024", '', "1024 | 1024",
        'x *. rsqrt ((x *. x ++ "n | d => n | 0") /. 1024. + 1e-5) *. s',
        "F.rms_norm(a,(1024,),b,1e-5)"),
    "batch norm, last": ("x 8 | 56, 56, 64; s 64; o 64", '', "8 | 56, 56, 64",
        'let t = (x ++ "b | h, w, c => 0 | 0, 0, c") /. 25088. in let d = x - t in let v = (d *. d ++ "b | h, w, c => 0 | 0, 0, c") /. 25088. in d *. rsqrt (v + 1e-5) *. s + o',
        "F.batch_norm(a.permute(0,3,1,2),None,None,b,c,True).permute(0,2,3,1)"),
    "softmax along rows": ("x 1024 | 1024", '', "1024 | 1024",
        'softmax ~over:"... | c" x',
        "a.softmax(1)"),
    "softmax along columns": ("x 1024 | 1024", '', "1024 | 1024",
        'softmax ~over:"n | ..." x',
        "a.softmax(0)"),
    "log softmax": ("x 1024 | 1024", '', "1024 | 1024",
        'log_softmax ~over:"... | c" x',
        "a.log_softmax(1)"),
    "cross entropy": ("x 4096 | 1000", '(ids : "4096 |" i32)', "4096 |",
        '(cross_entropy ~logits:x ~target:(one_hot 1000 ids)) ++ "n | 0 => n | "',
        "F.cross_entropy(a,ids.long(),reduction='none')"),
    "gelu": ("x 2048 | 1024", '', "2048 | 1024",
        'gelu x',
        "F.gelu(a)"),
    "silu": ("x 2048 | 1024", '', "2048 | 1024",
        'silu x',
        "F.silu(a)"),
    "relu": ("x 2048 | 1024", '', "2048 | 1024",
        'relu x',
        "F.relu(a)"),
    "x * y": ("x 1024 | 1024; y 1024 | 1024", '', "1024 | 1024",
        'x *. y',
        "a*b"),
    "power": ("x 1024 | 1024; y 1024 | 1024", '', "1024 | 1024",
        '(x *. x + 0.5) **. y',
        "(a*a+0.5)**b"),
    "x * a row": ("x 2048 | 1024; y 1024", '', "2048 | 1024",
        'x *. y',
        "a*b"),
    "maxima of rows": ("x 1024 | 1024", '', "1024 | 1",
        'x @^^ "n | m => n | 0"',
        "a.amax(1,keepdim=True)"),
    "log-sum-exp of rows": ("x 1024 | 1024", '', "1024 | 1",
        'let m = stop_gradient (x @^^ "n | m => n | 0") in log (exp (x - m) ++ "n | m => n | 0") + m',
        "a.logsumexp(1,keepdim=True)"),
    "variance of rows": ("x 1024 | 1024", '', "1024 | 1",
        'let m = (x ++ "n | d => n | 0") /. 1024. in let c = x - m in (c *. c ++ "n | d => n | 0") /. 1024.',
        "a.var(1,unbiased=False,keepdim=True)"),
    "norms of rows": ("x 1024 | 1024", '', "1024 | 1",
        'sqrt (x *. x ++ "n | m => n | 0")',
        "a.norm(dim=1,keepdim=True)"),
    "cosines of rows": ("x 1024 | 1024; y 1024 | 1024", '', "1024 | 1",
        '(x *. y ++ "n | m => n | 0") /. sqrt ((x *. x ++ "n | m => n | 0") *. (y *. y ++ "n | m => n | 0"))',
        "F.cosine_similarity(a,b,dim=1)[:,None]"),
    "max pool 2x2, last": ("x 8 | 56, 56, 64", '', "8 | 28, 28, 64",
        'max_pool2d x',
        "F.max_pool2d(a.permute(0,3,1,2),2).permute(0,2,3,1)"),
    "max pool 3x3 / 2, last": ("x 8 | 57, 57, 64", '', "8 | 28, 28, 64",
        'max_pool2d ~size:3 ~stride:2 x',
        "F.max_pool2d(a.permute(0,3,1,2),3,2).permute(0,2,3,1)"),
    "max pool 2x2, first": ("x 8 | 64, 56, 56", '', "8 | 64, 28, 28",
        'first_max x (let p = positions () ++ "i, j => i, j" [i; j] in set_dim i 2; set_dim j 2; p) ~spec:"b | c, 2*h <+ i, 2*w <+ j; i, j => b | c, h, w"',
        "F.max_pool2d(a,2)"),
    "average pool 2x2, last": ("x 8 | 56, 56, 64", '', "8 | 28, 28, 64",
        'avg_pool2d x',
        "F.avg_pool2d(a.permute(0,3,1,2),2).permute(0,2,3,1)"),
    "global average pool": ("x 8 | 28, 28, 256", '', "8 | 256",
        'global_avg_pool x',
        "a.mean((1,2))"),
    "3x3, last": ("x 8 | 28, 28, 64; k 3, 3, 64 -> 64", '', "8 | 28, 28, 64",
        'x +* k "b | h =+ i, w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),padding=1).permute(0,2,3,1)"),
    "3x3, first": ("x 8 | 64, 28, 28; k 64, 3, 3 -> 64", '', "8 | 64, 28, 28",
        'x +* k "b | c, h =+ i, w =+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(a,b,padding=1)"),
    "1x1, last": ("x 8 | 28, 28, 128; k 128 -> 256", '', "8 | 28, 28, 256",
        'x +* k "b | h, w, c; c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b[:,:,None,None]).permute(0,2,3,1)"),
    "1x1, first": ("x 8 | 128, 28, 28; k 128 -> 256", '', "8 | 256, 28, 28",
        'x +* k "b | c, h, w; c -> f => b | f, h, w"',
        "F.conv2d(a,b[:,:,None,None])"),
    "5x5 of digits": ("x 64 | 1, 28, 28; k 1, 5, 5 -> 16", '', "64 | 16, 24, 24",
        'x +* k "b | c, h <+ i, w <+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(a,b)"),
    "5x5 of 6 channels, first": ("x 64 | 6, 14, 14; k 6, 5, 5 -> 16", '', "64 | 16, 10, 10",
        'x +* k "b | c, h <+ i, w <+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(a,b)"),
    "7x7 / 2 of 3 channels": ("x 2 | 112, 112, 3; k 7, 7, 3 -> 64", '', "2 | 56, 56, 64",
        'x +* k "b | 2*h =+ i, 2*w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(F.pad(a.permute(0,3,1,2),(3,2,3,2)),b.permute(0,3,1,2),stride=2).permute(0,2,3,1)"),
    "3x3 / 2, last": ("x 8 | 28, 28, 64; k 3, 3, 64 -> 128", '', "8 | 14, 14, 128",
        'x +* k "b | 2*h =+ i, 2*w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(F.pad(a.permute(0,3,1,2),(1,0,1,0)),b.permute(0,3,1,2),stride=2).permute(0,2,3,1)"),
    "3x3 depthwise, last": ("x 8 | 56, 56, 64; k 3, 3, 64", '', "8 | 56, 56, 64",
        'x +* k "b | h =+ i, w =+ j, c; i, j, c => b | h, w, c"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(2,0,1)[:,None],padding=1,groups=64).permute(0,2,3,1)"),
    "3x3 depthwise, first": ("x 8 | 64, 56, 56; k 64, 3, 3", '', "8 | 64, 56, 56",
        'x +* k "b | c, h =+ i, w =+ j; c, i, j => b | c, h, w"',
        "F.conv2d(a,b[:,None],padding=1,groups=64)"),
    "7x7 depthwise, last": ("x 8 | 28, 28, 64; k 7, 7, 64", '', "8 | 28, 28, 64",
        'x +* k "b | h =+ i, w =+ j, c; i, j, c => b | h, w, c"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(2,0,1)[:,None],padding=3,groups=64).permute(0,2,3,1)"),
    "7x7 depthwise, first": ("x 8 | 64, 28, 28; k 64, 7, 7", '', "8 | 64, 28, 28",
        'x +* k "b | c, h =+ i, w =+ j; c, i, j => b | c, h, w"',
        "F.conv2d(a,b[:,None],padding=3,groups=64)"),
    "3x3 in groups of 2": ("x 8 | 28, 28, 64, 2; k 3, 3, 64, 2 -> 2", '', "8 | 28, 28, 64, 2",
        'x +* k "b | h =+ i, w =+ j, g, c; i, j, g, c -> f => b | h, w, g, f"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2),b.permute(3,0,4,1,2).reshape(128,2,3,3),padding=1,groups=64).permute(0,2,3,1).reshape(8,28,28,64,2)"),
    "3x3 in groups of 4": ("x 8 | 28, 28, 32, 4; k 3, 3, 32, 4 -> 4", '', "8 | 28, 28, 32, 4",
        'x +* k "b | h =+ i, w =+ j, g, c; i, j, g, c -> f => b | h, w, g, f"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2),b.permute(3,0,4,1,2).reshape(128,4,3,3),padding=1,groups=32).permute(0,2,3,1).reshape(8,28,28,32,4)"),
    "3x3 in groups of 8": ("x 8 | 28, 28, 16, 8; k 3, 3, 16, 8 -> 8", '', "8 | 28, 28, 16, 8",
        'x +* k "b | h =+ i, w =+ j, g, c; i, j, g, c -> f => b | h, w, g, f"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2),b.permute(3,0,4,1,2).reshape(128,8,3,3),padding=1,groups=16).permute(0,2,3,1).reshape(8,28,28,16,8)"),
    "3x3 in groups of 16": ("x 8 | 28, 28, 8, 16; k 3, 3, 8, 16 -> 16", '', "8 | 28, 28, 8, 16",
        'x +* k "b | h =+ i, w =+ j, g, c; i, j, g, c -> f => b | h, w, g, f"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2),b.permute(3,0,4,1,2).reshape(128,16,3,3),padding=1,groups=8).permute(0,2,3,1).reshape(8,28,28,8,16)"),
    "3x3, dilated": ("x 8 | 28, 28, 64; k 3, 3, 64 -> 64", '', "8 | 28, 28, 64",
        'x +* k "b | h =+ 2*i, w =+ 2*j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),padding=2,dilation=2).permute(0,2,3,1)"),
    "5 along 1000": ("x 16 | 1000, 64; k 5, 64 -> 64", '', "16 | 1000, 64",
        'x +* k "b | t =+ i, c; i, c -> f => b | t, f"',
        "F.conv1d(a.permute(0,2,1),b.permute(0,2,1),padding=2).permute(0,2,1)"),
    "3 along 500, first": ("x 16 | 64, 500; k 64, 3 -> 64", '', "16 | 64, 500",
        'x +* k "b | c, t =+ i; c, i -> f => b | f, t"',
        "F.conv1d(a,b,padding=1)"),
    "5x5 over an image": ("x 512, 512; k 5, 5", '', "512, 512",
        'x +* k "h =+ i, w =+ j; i, j => h, w"',
        "F.conv2d(a[None,None],b[None,None],padding=2)[0,0]"),
    "3x3 / 2 depthwise, last": ("x 8 | 56, 56, 64; k 3, 3, 64", '', "8 | 28, 28, 64",
        'x +* k "b | 2*h =+ i, 2*w =+ j, c; i, j, c => b | h, w, c"',
        "F.conv2d(F.pad(a.permute(0,3,1,2),(1,0,1,0)),b.permute(2,0,1)[:,None],stride=2,groups=64).permute(0,2,3,1)"),
    "3x3 / 2 depthwise, first": ("x 8 | 64, 56, 56; k 64, 3, 3", '', "8 | 64, 28, 28",
        'x +* k "b | c, 2*h =+ i, 2*w =+ j; c, i, j => b | c, h, w"',
        "F.conv2d(F.pad(a,(1,0,1,0)),b[:,None],stride=2,groups=64)"),
    "3x3 / 2 of 3 channels, last": ("x 8 | 64, 64, 3; k 3, 3, 3 -> 32", '', "8 | 32, 32, 32",
        'x +* k "b | 2*h =+ i, 2*w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(F.pad(a.permute(0,3,1,2),(1,0,1,0)),b.permute(0,3,1,2),stride=2).permute(0,2,3,1)"),
    "3x3 / 2 of 3 channels, first": ("x 8 | 3, 64, 64; k 3, 3, 3 -> 32", '', "8 | 32, 32, 32",
        'x +* k "b | c, 2*h =+ i, 2*w =+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(F.pad(a,(1,0,1,0)),b,stride=2)"),
    "3x3 / 2, first": ("x 8 | 64, 28, 28; k 64, 3, 3 -> 128", '', "8 | 128, 14, 14",
        'x +* k "b | c, 2*h =+ i, 2*w =+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(F.pad(a,(1,0,1,0)),b,stride=2)"),
    "3x3 of 3 channels, last": ("x 8 | 64, 64, 3; k 3, 3, 3 -> 32", '', "8 | 64, 64, 32",
        'x +* k "b | h =+ i, w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),padding=1).permute(0,2,3,1)"),
    "3x3 of 3 channels, first": ("x 8 | 3, 64, 64; k 3, 3, 3 -> 32", '', "8 | 32, 64, 64",
        'x +* k "b | c, h =+ i, w =+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(a,b,padding=1)"),
    "3x3 to 3 channels, last": ("x 8 | 64, 64, 32; k 3, 3, 32 -> 3", '', "8 | 64, 64, 3",
        'x +* k "b | h =+ i, w =+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),padding=1).permute(0,2,3,1)"),
    "3x3 to 3 channels, first": ("x 8 | 32, 64, 64; k 32, 3, 3 -> 3", '', "8 | 3, 64, 64",
        'x +* k "b | c, h =+ i, w =+ j; c, i, j -> f => b | f, h, w"',
        "F.conv2d(a,b,padding=1)"),
    "1x1 to 1 channel, last": ("x 8 | 64, 64, 32; k 32", '', "8 | 64, 64",
        'x +* k "b | h, w, c; c => b | h, w"',
        "F.conv2d(a.permute(0,3,1,2),b[None,:,None,None])[:,0]"),
    "patches of 16 of 3 channels": ("x 4 | 224, 224, 3; k 16, 16, 3 -> 192", '', "4 | 14, 14, 192",
        'x +* k "b | 16*h <+ i, 16*w <+ j, c; i, j, c -> f => b | h, w, f"',
        "F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),stride=16).permute(0,2,3,1)"),
    "5 along 1000 depthwise": ("x 16 | 1000, 64; k 5, 64", '', "16 | 1000, 64",
        'x +* k "b | t =+ i, c; i, c => b | t, c"',
        "F.conv1d(a.permute(0,2,1),b.t()[:,None],padding=2,groups=64).permute(0,2,1)"),
    "5 along 1000 depthwise, first": ("x 16 | 64, 1000; k 64, 5", '', "16 | 64, 1000",
        'x +* k "b | c, t =+ i; c, i => b | c, t"',
        "F.conv1d(a,b[:,None],padding=2,groups=64)"),
    "5 along 4000 of one signal": ("x 16 | 4000; k 5 -> 32", '', "16 | 4000, 32",
        'x +* k "b | t =+ i; i -> f => b | t, f"',
        "F.conv1d(a[:,None],b[:,None],padding=2).permute(0,2,1)"),
    "3x3x3 of 16x16x16": ("x 4 | 16, 16, 16, 16; k 3, 3, 3, 16 -> 32", '', "4 | 16, 16, 16, 32",
        'x +* k "b | d =+ l, h =+ i, w =+ j, c; l, i, j, c -> f => b | d, h, w, f"',
        "F.conv3d(a.permute(0,4,1,2,3),b.permute(0,4,1,2,3),padding=1).permute(0,2,3,4,1)"),
    "attention, heads apart": ("q 12, 256 | 64; k 12, 256 | 64; v 12, 256 | 64", '', "12, 256 | 64",
        'let s = (q +* k "h, s | d; h, t | d => h, s | t") /. 8. in (softmax ~over:"... | t" s) +* v "h, s | t; h, t | d => h, s | d"',
        "F.scaled_dot_product_attention(a,b,c)"),
    "attention, heads within": ("q 2, 128 | 8, 64; k 2, 128 | 8, 64; v 2, 128 | 8, 64", '', "2, 128 | 8, 64",
        'let s = (q +* k "b, s | h, d; b, t | h, d => b, s | t -> h") /. 8. in (softmax ~over:"... | t -> ..." s) +* v "b, s | t -> h; b, t | h, d => b, s | h, d"',
        "F.scaled_dot_product_attention(a.transpose(1,2),b.transpose(1,2),c.transpose(1,2)).transpose(1,2)"),
    "attention, causal": ("q 12, 256 | 64; k 12, 256 | 64; v 12, 256 | 64", '', "12, 256 | 64",
        'let s = (q +* k "h, s | d; h, t | d => h, s | t") /. 8. in (softmax ~over:"... | t" (where ((positions () ++ "i | => 0, i | 0") >= (positions () ++ "j | => 0, 0 | j")) s (0. - 1e30))) +* v "h, s | t; h, t | d => h, s | d"',
        "F.scaled_dot_product_attention(a,b,c,is_causal=True)"),
    "GRU cell": ("x 64 | 256; h 64 | 256; w 256 -> 3, 256; u 256 -> 3, 256; b 3, 256", '', "64 | 256",
        'let p = w * x + b in let q = u * h + b in let r = sigmoid ((p ++ "n | 0, d => n | d") + (q ++ "n | 0, d => n | d")) in let z = sigmoid ((p ++ "n | 1, d => n | d") + (q ++ "n | 1, d => n | d")) in let n = tanh ((p ++ "n | 2, d => n | d") + r *. (q ++ "n | 2, d => n | d")) in (1. - z) *. n + z *. h',
        "torch.gru_cell(a,b,c.reshape(768,256),d.reshape(768,256),e.reshape(-1),e.reshape(-1))"),
    "LSTM's gates": ("p 256 | 4, 512; c 256 | 512", '', "256 | 512",
        'let i = sigmoid (p ++ "n | 0, d => n | d") in let f = sigmoid (p ++ "n | 1, d => n | d") in let g = tanh (p ++ "n | 2, d => n | d") in let o = sigmoid (p ++ "n | 3, d => n | d") in o *. tanh (f *. c + i *. g)',
        "(lambda p: p[:,3].sigmoid()*torch.tanh(p[:,1].sigmoid()*b+p[:,0].sigmoid()*p[:,2].tanh()))(a)"),
    "SwiGLU": ("x 128 | 256; w 256 -> 1024; u 256 -> 1024; v 1024 -> 256", '', "128 | 256",
        'v * (silu (w * x) *. (u * x))',
        "(F.silu(a @ b.t()) * (a @ c.t())) @ d.t()"),
    "b i, o i j, b j": ("x 256 | 64; w 32, 64, 64; y 256 | 64", '', "256 | 32",
        '(x, w, y) +* "b | i; o, i, j; b | j => b | o"',
        "torch.einsum('bi,oij,bj->bo',a,b,c)"),
    "a b c, i a, j b, k c": ("x 32, 32, 32; y 64, 32; z 48, 32; w 40, 32", '', "64, 48, 40",
        '(x, y, z, w) +* "a, b, c; i, a; j, b; k, c => i, j, k"',
        "torch.einsum('abc,ia,jb,kc->ijk',a,b,c,d)"),
    "squared distances": ("x 1000 | 64; y 1000 | 64", '', "1000 | 1000",
        '(x *. x ++ "n | d => n | 0") +++ (y *. y ++ "m | d => | m") "n | 0; | m => n | m" - 2. *. (x +* y "n | d; m | d => n | m")',
        "(a*a).sum(1)[:,None]+(b*b).sum(1)[None]-2*a@b.t()"),
    "distances of points": ("x 500 | 3; y 500 | 3", '', "500, 500 |",
        'let d = (x ++ "n | d => n, 0 | d") - (y ++ "m | d => 0, m | d") in sqrt ((d *. d ++ "n, m | d => n, m |") + 0.01)',
        "((a[:,None]-b[None]).pow(2).sum(2)+0.01).sqrt()"),
    "Gaussian kernel": ("x 500 | 32; y 500 | 32", '', "500 | 500",
        'let s = (x *. x ++ "n | d => n | 0") +++ (y *. y ++ "m | d => | m") "n | 0; | m => n | m" - 2. *. (x +* y "n | d; m | d => n | m") in exp (0. - 0.1 *. s)',
        "torch.exp(-0.1*((a*a).sum(1)[:,None]+(b*b).sum(1)[None]-2*a@b.t()))"),
    "forces": ("x 500 | 3", '', "500 | 3",
        'let d = (x ++ "n | d => 0, n | d") - (x ++ "m | d => m, 0 | d") in let r = rsqrt ((d *. d ++ "m, n | d => m, n | 0") + 0.01) in (d *. r *. r *. r) ++ "m, n | d => m | d"',
        "(lambda d: (d*((d*d).sum(2,keepdim=True)+0.01)**-1.5).sum(1))(a[None]-a[:,None])"),
    "triplet loss": ("x 1000 | 128; y 1000 | 128; z 1000 | 128", '', "1000 |",
        'relu (sqrt ((x - y) *. (x - y) ++ "n | d => n |") - sqrt ((x - z) *. (x - z) ++ "n | d => n |") + 1.)',
        "torch.relu((a-b).norm(dim=1)-(a-c).norm(dim=1)+1)"),
    "huber loss": ("x 1024 | 1024", '(y : "1024 | 1024")', "1024 |",
        '(let d = abs (x - y) in where (d < 1.) (0.5 *. d *. d) (d - 0.5)) ++ "n | m => n |"',
        "F.huber_loss(a,y,reduction='none').sum(1)"),
    "binary cross entropy": ("x 1024 | 1024", '(y : "1024 | 1024")', "1024 |",
        '(max x 0. - x *. y + log (1. + exp (0. - abs x))) ++ "n | m => n |"',
        "F.binary_cross_entropy_with_logits(a,y,reduction='none').sum(1)"),
    "Kullback-Leibler divergence": ("x 1000 | 300", '(y : "1000 | 300")', "1000 |",
        'let p = softmax ~over:"... | c" y in ((p *. (log p - log_softmax ~over:"... | c" x)) ++ "n | m => n |")',
        "F.kl_div(a.log_softmax(1),y.softmax(1),reduction='none').sum(1)"),
    "rotary embedding": ("x 8, 512 | 8, 2, 32", '(c : "512 | 32") (s : "512 | 32")', "8, 512 | 8, 2, 32",
        'let u = x ++ "b, t | h, 0, d => b, t | h, d" in let v = x ++ "b, t | h, 1, d => b, t | h, d" in let cc = c ++ "t | d => 0, t | 0, d" in let ss = s ++ "t | d => 0, t | 0, d" in (((u *. cc - v *. ss) ++ "b, t | h, d => b, t | h, 0, d"), ((u *. ss + v *. cc) ++ "b, t | h, d => b, t | h, 0, d")) ++^ "b, t | h, p, d; b, t | h, q, d => b, t | h, p^q, d"',
        "(lambda u,v,C,S: torch.stack([u*C-v*S,u*S+v*C],3))(a[:,:,:,0],a[:,:,:,1],c[None,:,None],s[None,:,None])"),
    "cumulative sums of rows": ("x 1024 | 1024", '', "1024 | 1024",
        'let p = positions () ++ "s => 0 | s, 0" [s] in set_dim s 1024; (where ((positions () ++ "t => 0 | 0, t") <= p) (x ++ "n | t => n | 0, t") 0.) ++ "n | s, t => n | s"',
        "a.cumsum(1)"),
    "concatenation": ("x 2048 | 512; y 2048 | 512", '', "2048 | 1024",
        '(x, y) ++^ "n | a; n | b => n | a^b"',
        "torch.cat([a,b],1)"),
    "differences": ("x 1024 | 1024", '', "1024 | 1023",
        '(x ++ "n | m + 1 => n | m") - (x ++ "n | m ^ 1 => n | m")',
        "a[:,1:]-a[:,:-1]"),
    "twice as large": ("x 8 | 28, 28, 64", '', "8 | 56, 56, 64",
        'let y = x ++ "b | h, w, c => b | (h, u), (w, v), c" [u; v] in set_dim u 2; set_dim v 2; y',
        "F.interpolate(a.permute(0,3,1,2),scale_factor=2).permute(0,2,3,1)"),
    "heads apart": ("x 4, 512 | 8, 64", '', "4, 8 | 512, 64",
        'x ++ "b, t | h, d => b, h | t, d"',
        "a.permute(0,2,1,3).contiguous()"),
    "512 of 16 x 16 x 16": ("x 512 | 16, 16; y 512 | 16, 16", '', "512 | 16, 16",
        'x +* y "b | i, k; b | k, j => b | i, j"',
        "torch.bmm(a,b)"),
    "10000 of 4 x 4 x 4": ("x 10000 | 4, 4; y 10000 | 4, 4", '', "10000 | 4, 4",
        'x +* y "b | i, k; b | k, j => b | i, j"',
        "torch.bmm(a,b)"),
    "max-plus, 128 cubed": ("x 128 | 128; y 128 | 128", '', "128 | 128",
        '(x, y) @^+ "i | k; k | j => i | j"',
        "(a[:,:,None]+b[None]).amax(1)"),
    "LoRA": ("x 256 | 512; w 512 -> 8; v 8 -> 512", '(u : "512 -> 512")', "256 | 512",
        'u * x + v * (w * x)',
        "a @ u.t() + (a @ b.t()) @ c.t()"),
    "conv net block": ("x 8 | 28, 28, 64; k 3, 3, 64 -> 64; s 64; o 64", '', "8 | 28, 28, 64",
        'let z = x +* k "b | h =+ i, w =+ j, c; i, j, c -> f => b | h, w, f" in let t = (z ++ "b | h, w, c => 0 | 0, 0, c") /. 6272. in let d = z - t in let v = (d *. d ++ "b | h, w, c => 0 | 0, 0, c") /. 6272. in relu (d *. rsqrt (v + 1e-5) *. s + o)',
        "F.relu(F.batch_norm(F.conv2d(a.permute(0,3,1,2),b.permute(0,3,1,2),padding=1),None,None,c,d,True)).permute(0,2,3,1)"),
    "batch norm, first": ("x 8 | 64, 56, 56; s 64; o 64", '', "8 | 64, 56, 56",
        'let t = (x ++ "b | c, h, w => 0 | c, 0, 0") /. 25088. in let d = x - t in let v = (d *. d ++ "b | c, h, w => 0 | c, 0, 0") /. 25088. in d *. rsqrt (v + 1e-5) *. (s ++ "c => c, 0, 0") + (o ++ "c => c, 0, 0")',
        "F.batch_norm(a, None, None, b, c, True)"),
}


def sizes(text):
    """As they lie in memory: batch axes, output, input."""
    batch, bar, row = text.rpartition("|")
    inputs, arrow, outputs = row.rpartition("->")
    return tuple(int(n) for part in (batch, outputs, inputs) for n in part.split(",") if n.strip())


def parameters(name):
    return [tuple(part.strip().split(" ", 1)) for part in CASES[name][0].split(";")]


def given(name):
    """Name, shape, and whether it is whole numbers."""
    return re.findall(r'\((\w+) : "([^"]*)"( i32)?\)', CASES[name][1])


def declared(name, shape):
    batch, bar, row = shape.rpartition("|")
    inputs, arrow, outputs = row.rpartition("->")
    axes = [f"{kind} = [{'; '.join(part.split(','))}]" for kind, part in (("b", batch), ("i", inputs), ("o", outputs)) if part.strip()]
    return f"{{ {'; '.join([name, *axes])} }}"


def program():
    """Of case i `start` sets the parameters, and `gradient` is what is timed."""
    text = "open Nn\nopen Train\n"
    for i, (name, (_, others, shape, result, _)) in enumerate(CASES.items()):
        own = [(p, f"p{i}_{p}", s) for p, s in parameters(name)]
        text += "".join(f"let%op {full} = {declared(full, s)}\n" for _, full, s in own)
        text += f"let%export start{i} {' '.join(f'({p} : {chr(34)}{s}{chr(34)})' for p, _, s in own)} = {'; '.join(f'{full} =: {p}' for p, full, _ in own)}\n"
        gradients = ", ".join(f"{full}.grad" for _, full, _ in own)
        text += f'let%export gradient{i} {others} (above : "{shape}") =\n' + "".join(f"  let%op {p} = {full} in\n" for p, full, _ in own)
        text += f'  let%op y = ({result}) in\n  let%op agreement = (y *. above) ++ "..b.. | ..i.. -> ..o.. => 0" in\n  grad_update agreement;\n'
        text += f"  {f'({gradients})' if len(own) > 1 else gradients}\n"
    return text


def arguments(name):
    """The parameters, the others, what comes from above."""
    random = np.random.default_rng(7)
    own = [on_lines(random.standard_normal(sizes(s), dtype=np.float32) * np.float32(0.1 if "->" in s else 1)) for _, s in parameters(name)]
    others = [on_lines(random.integers(0, 1000, sizes(s)).astype(np.int32) if whole else random.standard_normal(sizes(s), dtype=np.float32)) for _, s, whole in given(name)]
    return own, others, on_lines(random.standard_normal(sizes(CASES[name][2]), dtype=np.float32))


def part(bench, model, workers, i, name):
    path, pointer = bench.path("gradients.npz"), lambda x: x.ctypes.data_as(ctypes.c_void_p)
    next(iter(workers.values())).ask(f"result {i} {path}")
    own, others, above = arguments(name)
    got = [np.zeros_like(p) for p in own]
    call = lambda *to: model.seconds(f"gradient{i}", *map(pointer, others), pointer(above), *to)
    model.seconds(f"start{i}", *map(pointer, own))
    call(*map(pointer, got))
    with np.load(path) as want:
        for k, have in enumerate(got):
            if not np.allclose(have, want[f"arr_{k}"], rtol=1e-3, atol=2e-3 * np.abs(want[f"arr_{k}"]).max()):
                return bench.table.missing(name, f"gradient {k} is WRONG by {np.abs(have - want[f'arr_{k}']).max():g}")
    for threads, worker in workers.items():
        bench.probes(threads)
        r = in_turns(2, {"ours": lambda: best(lambda: call(*[None] * len(own))), "PyTorch": lambda: worker.ask(str(i))})
        ours, theirs = least(r, "ours"), least(r, "PyTorch")
        bench.table.row(name if threads == 1 else f"{name}, {threads} threads", f"{ours * 1e6:.1f} us", f"PyTorch {theirs * 1e6:.1f}", theirs / ours)


def measure(bench, pattern=""):
    bench.table.heading("Gradients of everyday layers, one thread and two")
    bench.probes(1)
    model = Model(bench.shared(bench.written("gradients.tsr", program()), "gradients"))
    peer = [sys.executable, os.path.join(HERE, "gradients_torch.py")]
    workers = {threads: Worker(peer, threads, bench.frameworks(), greeting=True) for threads in (1, 2) if threads <= bench.cores}
    for i, name in enumerate(CASES):
        if not re.search(pattern, name):
            continue
        try:
            part(bench, model, workers, i, name)
        except Missing as why:
            bench.table.missing(name, why)
    for worker in workers.values():
        worker.end()
    model.close()
