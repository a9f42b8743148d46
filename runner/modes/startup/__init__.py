"""Mode `startup`: fresh processes from launch to first output."""
