import Foundation

// The notifications that carry IDs, as typed messages of NotificationCenter (Swift 6.2 and later). The classic notifications are
// posted as ever. Foundation turns one into the other on Apple's systems; elsewhere it does not, so both are posted.

#if compiler(>=6.2)
  @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
  extension ManagedObjectContext {
    /// A context has saved: `didSaveObjectIDsNotification` as a value that may be carried to any task (rule 118).
    public struct DidSaveObjectIDsMessage: NotificationCenter.AsyncMessage {
      public typealias Subject = ManagedObjectContext
      /// Records that are new.
      public let insertedObjectIDs: Set<ManagedObjectID>
      /// Records that have changed.
      public let updatedObjectIDs: Set<ManagedObjectID>
      /// Records that are gone.
      public let deletedObjectIDs: Set<ManagedObjectID>
      /// Which moment of their histories the save is, where stores record one (rule 119).
      public let historyToken: PersistentHistoryToken?
      /// The generation that a pinned context has moved on to (rules 119, 291).
      public let queryGenerationToken: QueryGenerationToken?

      public static var name: Notification.Name { ManagedObjectContext.didSaveObjectIDsNotification }
      public static func makeMessage(_ notification: Notification) -> Self? { Self(notification.userInfo) }
      public static func makeNotification(_ message: Self) -> Notification {
        var userInfo: [AnyHashable: Any] = [
          NotificationKey.insertedObjectIDs.rawValue: message.insertedObjectIDs,
          NotificationKey.updatedObjectIDs.rawValue: message.updatedObjectIDs,
          NotificationKey.deletedObjectIDs.rawValue: message.deletedObjectIDs,
        ]
        userInfo[tokenKey] = message.historyToken
        userInfo[NotificationKey.queryGeneration.rawValue] = message.queryGenerationToken
        return Notification(name: name, userInfo: userInfo)
      }

      private static var tokenKey: String { PersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue }

      fileprivate init(_ sets: DidSaveSets, _ moment: SavedMoment) {
        insertedObjectIDs = sets.insertedIDs
        updatedObjectIDs = sets.updatedIDs
        deletedObjectIDs = sets.deletedIDs
        historyToken = moment.token
        queryGenerationToken = moment.generation
      }

      init(_ userInfo: [AnyHashable: Any]?) {
        insertedObjectIDs = ManagedObjectContext.identifiers(userInfo, .insertedObjectIDs)
        updatedObjectIDs = ManagedObjectContext.identifiers(userInfo, .updatedObjectIDs)
        deletedObjectIDs = ManagedObjectContext.identifiers(userInfo, .deletedObjectIDs)
        historyToken = userInfo?[Self.tokenKey] as? PersistentHistoryToken
        queryGenerationToken =
          userInfo?[NotificationKey.queryGeneration.rawValue] as? QueryGenerationToken
      }
    }

    /// A context has merged what others have saved: `didMergeChangesObjectIDsNotification` as a value (rule 120).
    public struct DidMergeChangesObjectIDsMessage: NotificationCenter.AsyncMessage {
      public typealias Subject = ManagedObjectContext
      /// Records that are new.
      public let insertedObjectIDs: Set<ManagedObjectID>
      /// Records that have changed.
      public let updatedObjectIDs: Set<ManagedObjectID>
      /// Records that are gone.
      public let deletedObjectIDs: Set<ManagedObjectID>
      /// Records whose objects show something else now.
      public let refreshedObjectIDs: Set<ManagedObjectID>

      public static var name: Notification.Name { ManagedObjectContext.didMergeChangesObjectIDsNotification }
      public static func makeMessage(_ notification: Notification) -> Self? { Self(notification.userInfo) }
      public static func makeNotification(_ message: Self) -> Notification {
        Notification(
          name: name,
          userInfo: [
            NotificationKey.insertedObjectIDs.rawValue: message.insertedObjectIDs,
            NotificationKey.updatedObjectIDs.rawValue: message.updatedObjectIDs,
            NotificationKey.deletedObjectIDs.rawValue: message.deletedObjectIDs,
            NotificationKey.refreshedObjectIDs.rawValue: message.refreshedObjectIDs,
          ])
      }

      init(_ userInfo: [AnyHashable: Any]?) {
        insertedObjectIDs = ManagedObjectContext.identifiers(userInfo, .insertedObjectIDs)
        updatedObjectIDs = ManagedObjectContext.identifiers(userInfo, .updatedObjectIDs)
        deletedObjectIDs = ManagedObjectContext.identifiers(userInfo, .deletedObjectIDs)
        refreshedObjectIDs = ManagedObjectContext.identifiers(userInfo, .refreshedObjectIDs)
      }
    }

    fileprivate static func identifiers(
      _ userInfo: [AnyHashable: Any]?, _ key: NotificationKey
    ) -> Set<ManagedObjectID> {
      userInfo?[key.rawValue] as? Set<ManagedObjectID> ?? []
    }
  }
#endif

extension ManagedObjectContext {
  /// Posts the typed form of the did-save notification, which was posted.
  func postMessage(_ sets: DidSaveSets, _ moment: SavedMoment) {
    #if compiler(>=6.2) && !canImport(Darwin)
      NotificationCenter.default.post(DidSaveObjectIDsMessage(sets, moment), subject: self)
    #endif
  }

  /// Posts the typed form of another notification that was posted, if it has one.
  func postMessage(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]?) {
    #if compiler(>=6.2) && !canImport(Darwin)
      if name == Self.didMergeChangesObjectIDsNotification {
        NotificationCenter.default.post(DidMergeChangesObjectIDsMessage(userInfo), subject: self)
      }
    #endif
  }
}
