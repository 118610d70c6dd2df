import StrataCore

/// What a fetch can return: managed objects, their identifiers, dictionaries, numbers.
///
/// Unlike Apple's it does not ask for `NSObjectProtocol`: identifiers are values here.
public protocol NSFetchRequestResult {}

extension ManagedObject: NSFetchRequestResult {}
extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// What a fetch returns. The raw values are Core Data's (rule 85).
public struct NSFetchRequestResultType: OptionSet, Sendable, Hashable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// Managed objects.
  public static let managedObjectResultType = NSFetchRequestResultType([])
  /// Their identifiers.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Rows of values, as `NSDictionary`.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// How many there are, as one `NSNumber` (rule 91).
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}
