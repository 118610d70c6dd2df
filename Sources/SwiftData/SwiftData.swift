/// Source that imports SwiftData sees Foundation and Observation too, as on Apple's systems: what the macros write names both.
@_exported import Foundation
@_exported import Observation

// Classes that Foundation has on Apple's systems only. They are those of the module CoreData, so that a file may import both.
@_exported import class CoreData.ValueTransformer
@_exported import struct CoreData.NSValueTransformerName
@_exported import class StrataCore.UndoManager
