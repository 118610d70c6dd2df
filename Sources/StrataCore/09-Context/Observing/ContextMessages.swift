import Foundation

// Notifications as typed messages of NotificationCenter (Swift 6.2 and later): those that carry IDs, and the did-save notification of contexts of the main
// queue, whose objects may be used on the main actor. The classic notifications are
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
        userInfo[SavedInfoForm.changeTokenKey] = message.historyToken
        userInfo[NotificationKey.queryGeneration.rawValue] = message.queryGenerationToken
        return Notification(name: name, userInfo: userInfo)
      }

      fileprivate static var tokenKey: String {
        PersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue
      }

      /// The history token of a did-save notification. Those that programs make may have it under Core Data's key alone.
      fileprivate static func token(_ userInfo: [AnyHashable: Any]?) -> PersistentHistoryToken? {
        [tokenKey, SavedInfoForm.changeTokenKey].lazy
          .compactMap { userInfo?[$0] as? PersistentHistoryToken }.first
      }

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
        historyToken = Self.token(userInfo)
        queryGenerationToken =
          userInfo?[NotificationKey.queryGeneration.rawValue] as? QueryGenerationToken
      }
    }

    /// A context of the main queue has saved: `didSaveObjectsNotification` as a value of the main actor (rule 118). Contexts of other kinds do not post it: their
    /// objects stay on their queues.
    public struct DidSaveMessage: NotificationCenter.MainActorMessage {
      public typealias Subject = ManagedObjectContext
      /// The context that has saved.
      public let context: ManagedObjectContext
      /// Objects whose records are new.
      public var inserted: Set<ManagedObject>
      /// Objects whose records have changed.
      public var updated: Set<ManagedObject>
      /// Objects whose records are gone.
      public var deleted: Set<ManagedObject>
      /// Which moment of their histories the save is, where stores record one (rule 119).
      public let historyToken: PersistentHistoryToken?
      /// The generation that a pinned context has moved on to (rules 119, 291).
      public let queryGeneration: QueryGenerationToken?

      public static var name: Notification.Name { ManagedObjectContext.didSaveObjectsNotification }
      /// Nil for a notification of no context of the main queue.
      public static func makeMessage(_ notification: Notification) -> Self? {
        guard let context = notification.object as? ManagedObjectContext,
          context.concurrencyType == .mainQueue
        else {
          return nil
        }
        let userInfo = notification.userInfo
        func objects(_ key: NotificationKey) -> Set<ManagedObject> {
          ManagedObjectContext.contents(userInfo?[key.rawValue])
        }
        return Self(
          context: context, inserted: objects(.insertedObjects), updated: objects(.updatedObjects),
          deleted: objects(.deletedObjects),
          historyToken: DidSaveObjectIDsMessage.token(userInfo),
          queryGeneration: userInfo?[NotificationKey.queryGeneration.rawValue] as? QueryGenerationToken)
      }
      public static func makeNotification(_ message: Self) -> Notification {
        var userInfo: [AnyHashable: Any] = [
          NotificationKey.insertedObjects.rawValue: message.inserted,
          NotificationKey.updatedObjects.rawValue: message.updated,
          NotificationKey.deletedObjects.rawValue: message.deleted,
        ]
        userInfo[DidSaveObjectIDsMessage.tokenKey] = message.historyToken
        userInfo[SavedInfoForm.changeTokenKey] = message.historyToken
        userInfo[NotificationKey.queryGeneration.rawValue] = message.queryGeneration
        return Notification(name: name, object: message.context, userInfo: userInfo)
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
      /// All records that a batch has inserted, when they are more than 1,024; the other sets of that message are empty (rule 179).
      public let insertedBatchObjectIDs: BatchObjectIDs?

      public static var name: Notification.Name { ManagedObjectContext.didMergeChangesObjectIDsNotification }
      public static func makeMessage(_ notification: Notification) -> Self? { Self(notification.userInfo) }
      public static func makeNotification(_ message: Self) -> Notification {
        var userInfo: [AnyHashable: Any] = [
          NotificationKey.insertedObjectIDs.rawValue: message.insertedObjectIDs,
          NotificationKey.updatedObjectIDs.rawValue: message.updatedObjectIDs,
          NotificationKey.deletedObjectIDs.rawValue: message.deletedObjectIDs,
          NotificationKey.refreshedObjectIDs.rawValue: message.refreshedObjectIDs,
        ]
        userInfo[NotificationKey.insertedBatchObjectIDs.rawValue] = message.insertedBatchObjectIDs
        return Notification(name: name, userInfo: userInfo)
      }

      init(_ userInfo: [AnyHashable: Any]?) {
        insertedObjectIDs = ManagedObjectContext.identifiers(userInfo, .insertedObjectIDs)
        updatedObjectIDs = ManagedObjectContext.identifiers(userInfo, .updatedObjectIDs)
        deletedObjectIDs = ManagedObjectContext.identifiers(userInfo, .deletedObjectIDs)
        refreshedObjectIDs = ManagedObjectContext.identifiers(userInfo, .refreshedObjectIDs)
        insertedBatchObjectIDs = userInfo?[NotificationKey.insertedBatchObjectIDs.rawValue] as? BatchObjectIDs
      }
    }

    fileprivate static func identifiers(
      _ userInfo: [AnyHashable: Any]?, _ key: NotificationKey
    ) -> Set<ManagedObjectID> {
      contents(userInfo?[key.rawValue])
    }

    /// What an entry of a notification holds; empty when it is no set.
    fileprivate static func contents<Member: Hashable>(_ value: Any?) -> Set<Member> {
      value.flatMap { FoundationCollections.cast($0, as: Set<Member>.self) } ?? []
    }
  }

  @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
  extension NotificationCenter.MessageIdentifier
  where Self == NotificationCenter.BaseMessageIdentifier<ManagedObjectContext.DidSaveMessage> {
    /// A context of the main queue has saved.
    public static var didSave: NotificationCenter.BaseMessageIdentifier<ManagedObjectContext.DidSaveMessage> {
      .init()
    }
  }
#endif

extension ManagedObjectContext {
  /// Posts the typed forms of the did-save notifications, which were posted.
  func postMessage(_ sets: DidSaveSets, _ moment: SavedMoment) {
    #if compiler(>=6.2) && !canImport(Darwin)
      PostingTurn.shared.withTurn {
        NotificationCenter.default.post(DidSaveObjectIDsMessage(sets, moment), subject: self)
      }
      guard concurrencyType == .mainQueue, ContextQueue.runsOnMainQueue else { return }
      // Unsafe: it has objects of the context, whose queue is the main actor's and on which this runs.
      nonisolated(unsafe) let message = DidSaveMessage(
        context: self, inserted: sets.inserted, updated: sets.updated, deleted: sets.deleted,
        historyToken: moment.token, queryGeneration: moment.generation)
      MainActor.assumeIsolated { NotificationCenter.default.post(message, subject: self) }
    #endif
  }

  /// Posts the typed form of another notification that was posted, if it has one.
  func postMessage(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]?) {
    #if compiler(>=6.2) && !canImport(Darwin)
      if name == Self.didMergeChangesObjectIDsNotification {
        PostingTurn.shared.withTurn {
          NotificationCenter.default.post(DidMergeChangesObjectIDsMessage(userInfo), subject: self)
        }
      }
    #endif
  }
}
