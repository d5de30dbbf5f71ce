"""Training of the judge: cases, labels, the network in torch, the loop, the export. Nothing here ships."""
