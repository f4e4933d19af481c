//! Tables of predicted, measured and published figures; reads records only.
