/// Source that imports Core Data sees Foundation too, as on Apple's systems.
@_exported import Foundation
