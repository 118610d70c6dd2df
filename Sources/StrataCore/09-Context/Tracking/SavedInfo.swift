import Foundation

/// Makes the user info of did-save notifications that carry the same keys.
///
/// Such a notification carries empty sets, too, and most sets of a save are empty. To hash and to compare a key of type `AnyHashable`
/// costs more than all else here. So a dictionary with all keys is made once, and each save puts its values into a copy of it, by index: an index
/// of a dictionary is valid in the copies of the dictionary.
struct SavedInfoForm {
  typealias UserInfo = [AnyHashable: Any]
  typealias Key = ManagedObjectContext.NotificationKey

  private let empty: UserInfo
  private let inserted: UserInfo.Index
  private let updated: UserInfo.Index
  private let deleted: UserInfo.Index
  private let others: [UserInfo.Index]

  private init(_ keys: [Key], of emptySet: Any, others: [String]) {
    var userInfo = UserInfo(minimumCapacity: keys.count + others.count)
    for key in keys.map(\.rawValue) + others { userInfo[key] = emptySet }
    empty = userInfo
    let places = (keys.map(\.rawValue) + others).compactMap { userInfo.index(forKey: $0) }
    (inserted, updated, deleted) = (places[0], places[1], places[2])
    self.others = Array(places.dropFirst(3))
  }

  /// User info with these sets. A value for each other key must follow.
  func userInfo<Element>(_ inserted: Set<Element>, _ updated: Set<Element>, _ deleted: Set<Element>)
    -> UserInfo
  {
    var userInfo = empty
    if !inserted.isEmpty { userInfo.values[self.inserted] = inserted }
    if !updated.isEmpty { userInfo.values[self.updated] = updated }
    if !deleted.isEmpty { userInfo.values[self.deleted] = deleted }
    return userInfo
  }

  /// Puts `value` under the other key with this number.
  func put(_ value: Any, other number: Int, into userInfo: inout UserInfo) {
    userInfo.values[others[number]] = value
  }

  // MARK: The notification of changes

  /// A key with a set, and no other one, or one with an empty set.
  struct Single {
    private let empty: UserInfo
    private let place: UserInfo.Index

    fileprivate init?(_ key: Key, beside other: String? = nil) {
      var userInfo: UserInfo = [key.rawValue: Set<ManagedObject>()]
      if let other { userInfo[other] = Set<ManagedObject>() }
      empty = userInfo
      guard let place = empty.index(forKey: key.rawValue) else { return nil }
      self.place = place
    }

    func userInfo(_ objects: Set<ManagedObject>) -> UserInfo {
      var userInfo = empty
      userInfo.values[place] = objects
      return userInfo
    }
  }

  // Unsafe: constant, of an empty set. A key of a dictionary has a place in it.
  nonisolated(unsafe) static let insertedAlone = Single(.insertedObjects)!
  nonisolated(unsafe) static let updatedAlone = Single(.updatedObjects)!
  nonisolated(unsafe) static let insertedByMerge = Single(.insertedObjects, beside: mergeKey)!
  /// The key that Core Data's did-change notifications of merges have; it is in no header, and programs ask whether it is there.
  static let mergeKey = "NSObjectsChangedByMergeChangesKey"

  // MARK: The two notifications

  /// Keys that the notifications of a save carry besides the sets.
  struct Pair {
    let objects: SavedInfoForm
    let identifiers: SavedInfoForm

    fileprivate init(objects: [String], identifiers: [String]) {
      self.objects = SavedInfoForm(
        [.insertedObjects, .updatedObjects, .deletedObjects], of: Set<ManagedObject>(), others: objects)
      self.identifiers = SavedInfoForm(
        [.insertedObjectIDs, .updatedObjectIDs, .deletedObjectIDs], of: Set<ManagedObjectID>(),
        others: identifiers)
    }
  }

  private static let tokenKey = PersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue
  /// The key that Core Data's did-save notifications have for the token; it is in no header, and programs know it.
  static let changeTokenKey = "newChangeToken"

  // Unsafe: constant, of empty sets.
  /// Of a save to a parent: the objects' notification has the one of the IDs as other key 0.
  nonisolated(unsafe) static let toParent = Pair(
    objects: [ManagedObjectContext.identifiersKey], identifiers: [])
  /// Of a save to stores: the notices are other key 0.
  nonisolated(unsafe) static let toStores = Pair(
    objects: [ManagedObjectContext.noticesKey], identifiers: [ManagedObjectContext.noticesKey])
  /// The same with a history token as other keys 1 and 2.
  nonisolated(unsafe) static let toStoresWithHistory = Pair(
    objects: [ManagedObjectContext.noticesKey, tokenKey, changeTokenKey],
    identifiers: [ManagedObjectContext.noticesKey, tokenKey, changeTokenKey])
}
