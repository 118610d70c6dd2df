import Foundation
import StrataCore

/// What the options of a store say about migrations that take something away.
enum MigrationOptions {
  static func knownModels(_ options: [AnyHashable: Any]?) -> [NSManagedObjectModel] {
    elements(options?[StrataKnownModelsOption]).compactMap { $0 as? NSManagedObjectModel }
  }

  static func permittedLosses(_ options: [AnyHashable: Any]?) -> Set<String> {
    Set(
      elements(options?[StrataPermittedLossesOption]).compactMap {
        ($0 as? String) ?? ($0 as? NSString).map(String.init)
      })
  }

  private static func elements(_ value: Any?) -> [Any] {
    switch value {
    case let array as NSArray: Array(array)
    case let set as NSSet: set.allObjects
    case let array as [Any]: array
    case let set as Set<AnyHashable>: set.map(\.base)
    default: []
    }
  }
}
