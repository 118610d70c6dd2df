/// Strata: an object graph with a durable store, on every platform Swift runs on.
///
/// The umbrella module. It re-exports `StrataCore`, which holds everything that touches a row.
@_exported import StrataCore
