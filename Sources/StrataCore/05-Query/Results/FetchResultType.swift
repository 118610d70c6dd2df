/// What a fetch returns. The raw values are Core Data's (rule 85).
public enum FetchResultType: UInt, Sendable, CaseIterable {
  /// Managed objects.
  case managedObject = 0
  /// Their identifiers.
  case managedObjectID = 1
  /// Rows of values: `FetchedDictionary`.
  case dictionary = 2
  /// One number: how many there are.
  case count = 4
}

/// What a fetch can return: managed objects, their identifiers, rows of values, or a number.
///
/// The type a request is made for decides what it returns: `FetchRequest<Flight>`, `FetchRequest<ManagedObjectID>`,
/// `FetchRequest<FetchedDictionary>`, `FetchRequest<Int>`.
public protocol FetchRequestResult: SendableMetatype {
  /// What a request for values of this type returns.
  static var fetchResultType: FetchResultType { get }
}

extension ManagedObjectID: FetchRequestResult {
  public static var fetchResultType: FetchResultType { .managedObjectID }
}

/// A fetch of numbers returns one: how many objects match (rule 91).
extension Int: FetchRequestResult {
  public static var fetchResultType: FetchResultType { .count }
}

extension FetchRequest {
  /// What the request returns (rule 85).
  public var resultType: FetchResultType { Result.fetchResultType }
}
