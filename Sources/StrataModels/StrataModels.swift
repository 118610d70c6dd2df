/// Strata, and macros that write a model from its classes. It re-exports `Strata`; only the macros need swift-syntax.
@_exported import Strata
