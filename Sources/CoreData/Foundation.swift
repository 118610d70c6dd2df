/// Source that imports Core Data sees Foundation too, as on Apple's systems.
@_exported import Foundation

// What is inlined into clients, and their default arguments, may use what they import by name only: StrataCore's declarations belong to that for
// whoever imports one of them. This one has no name that a program would use for something else.
@_exported import enum StrataCore.StoreMetadataKey
