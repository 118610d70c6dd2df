import Foundation

// Which observers are notified of commits, in which order.

extension PersistentStoreCoordinator {
  /// Posted after something was written to a store that was added with `postsRemoteChangeNotifications`, by this process or another
  /// one (rule 134), on a queue of the store's own and in commit order. The user info has the store's UUID, its URL and a history token
  /// under ``RemoteChangeKey``. Commits of other processes that come close together make one notification.
  ///
  /// A context that does not merge automatically can be handed the notification: `mergeChanges(fromContextDidSave:)`.
  public static let remoteChangeNotification = Notification.Name("NSPersistentStoreRemoteChangeNotification")

  /// Keys of the user info of `remoteChangeNotification`.
  public enum RemoteChangeKey: String, Sendable {
    /// The store's UUID, a `String`.
    case storeUUID = "NSStoreUUID"
    /// The store's `URL`; missing for a store in memory.
    case storeURL = "storeURL"
    /// A ``PersistentHistoryToken``: the newest commit that the notification reports.
    case historyToken
  }

  /// The newest commit of a store, to be compared with those of remote-change notifications.
  /// - Throws: `StorageError` when the store cannot be read; nil for an engine that does not count its commits.
  public func currentHistoryToken(for store: any PersistentStore) throws -> PersistentHistoryToken? {
    guard let engine = store as? any StoreEngine, let counting = engine.followedStore else { return nil }
    let moment =
      try engine.historyStore?.currentHistoryMoment() ?? HistoryMoment(number: try counting.commitNumber())
    return PersistentHistoryToken(storeIdentifier: store.identifier, moment)
  }

  /// Follows what is committed to the store attached as number `index`. Of a store that nobody else can write to only where every commit is to be reported.
  func makeFollower(of store: any StoreEngine, _ index: Int, postsRemoteChanges: Bool) -> StoreFollower? {
    guard let store = store.followedStore, store.isShared || postsRemoteChanges else { return nil }
    let listener = StoreFollower.Listener(
      commit: { [weak self] commit in self?.tellObservers(Self.notice(commit, index)) },
      changed: { [weak self] newest, others in self?.postRemoteChange(newest, others, index) })
    return StoreFollower(store: store, listener)
  }

  /// A commit of this coordinator's: told in commit order, after those of others that came before. On the thread that wrote.
  func tell(_ notice: CommitNotice) {
    guard let binding = binding(notice.storeIndex) else { return }
    func tell() {
      let changes = notice.changes
      if notice.count > 0 || !changes.isEmpty || !changes.resaved.isEmpty { tellObservers(notice) }
    }
    guard let follower = binding.follower else { return tell() }
    if notice.hasWritten {
      follower.tellOwn(notice.commitNumber, reportsChange: binding.postsRemoteChanges, tell)
    } else {
      follower.tellNothingWritten(tell)
    }
  }

  /// Objects were saved that have the values that they had, and nothing else: the store is not asked to write, and those who merge what is saved are told. Nil when there
  /// are none.
  func tell(resaved rows: [RowTouch], in binding: StoreBinding, origin: ObjectIdentifier) -> CommitNotice? {
    if rows.isEmpty { return nil }
    var changes = ChangeSet()
    changes.resaved = rows
    let notice = CommitNotice(
      storeIndex: binding.index, commitNumber: 0, origin: origin, changes: changes, hasWritten: false)
    if let follower = binding.follower {
      follower.tellNothingWritten { hand(notice) }
    } else {
      hand(notice)
    }
    return notice
  }

  private func tellObservers(_ notice: CommitNotice) {
    binding(notice.storeIndex)?.countCommit()
    hand(notice)
  }

  private func hand(_ notice: CommitNotice) {
    let observers = state.withLock { $0.observers }
    for (context, observer) in observers where context != notice.origin {
      observer.coordinatorDidCommit(notice)
    }
  }

  /// Another process's commit as contexts merge it.
  private static func notice(_ commit: JournaledCommit, _ index: Int) -> CommitNotice {
    CommitNotice(
      storeIndex: index, commitNumber: commit.number, origin: ObjectIdentifier(Elsewhere.self),
      changes: ChangeSet(),
      batch: commit.changes, isForeign: true)
  }

  /// A notice of commits up to that number of which nothing is known; nil when the store has gone.
  func unknownNotice(ofStore index: Int, upTo number: UInt64) -> CommitNotice? {
    binding(index)?.store.followedStore.map { Self.notice($0.unknownCommit(number), index) }
  }

  /// Stands for commits of other processes.
  private enum Elsewhere {}

  /// On the follower's queue.
  private func postRemoteChange(_ newest: UInt64, _ others: [JournaledCommit], _ index: Int) {
    guard let binding = binding(index), binding.postsRemoteChanges else { return }
    // A store that cannot be read now is still reported.
    let mark = try? binding.store.historyStore?.historyMark(upTo: newest)
    var userInfo: [AnyHashable: Any] = [
      RemoteChangeKey.storeUUID.rawValue: binding.store.identifier.uuidString,
      RemoteChangeKey.historyToken.rawValue: PersistentHistoryToken(
        storeIdentifier: binding.store.identifier, HistoryMoment(number: newest, mark: mark)),
      Self.noticesKey: others.map { Self.notice($0, index) },
    ]
    if let url = binding.store.url { userInfo[RemoteChangeKey.storeURL.rawValue] = url }
    post(Self.remoteChangeNotification, userInfo)
  }

  /// Under this key remote-change notifications carry what other processes have changed.
  static let noticesKey = "strata.commitNotices"
}
