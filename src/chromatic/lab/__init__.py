"""What is measured with the product: the demo, experiments, benchmarks, and the data they run on."""
