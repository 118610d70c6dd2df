//
//  ViewModels.swift
//  LedgerKit
//

#if canImport(Combine)
import Combine
#elseif canImport(CoreDataCombine)
import CoreDataCombine
#endif
import CoreData
import Foundation

/// What a view shows of one account.
public final class AccountViewModel: ObservableObject {
  @Published public private(set) var title = ""
  @Published public private(set) var subtitle: String?
  @Published public private(set) var isLocked = false
  @Published public private(set) var entryCount = 0
  @Published public var draftName = ""
  @Published public private(set) var isDraftValid = false

  public let account: Account
  private var subscriptions: Set<AnyCancellable> = []

  public init(account: Account) {
    self.account = account
    account.publisher(for: \.name)
      .map { $0 ?? "Untitled" }
      .removeDuplicates()
      .sink { [weak self] in self?.title = $0 }
      .store(in: &subscriptions)
    account.publisher(for: \.kindValue)
      .map { AccountKind(rawValue: $0)?.title }
      .sink { [weak self] in self?.subtitle = $0 }
      .store(in: &subscriptions)
    account.publisher(for: \.isLocked)
      .assign(to: \.isLocked, on: self)
      .store(in: &subscriptions)
    account.publisher(for: \.entries, options: [.initial, .new])
      .map { $0?.count ?? 0 }
      .sink { [weak self] in self?.entryCount = $0 }
      .store(in: &subscriptions)
    $draftName
      .map { !$0.trimmingCharacters(in: .whitespaces).isEmpty }
      .sink { [weak self] in self?.isDraftValid = $0 }
      .store(in: &subscriptions)
  }

  public func commitDraft() throws {
    guard isDraftValid, let context = account.managedObjectContext else { return }
    try context.performAndWait {
      account.name = draftName
      try context.saveIfNeeded()
    }
    draftName = ""
  }
}

/// A total that follows the entries of an account.
public final class BalanceViewModel: ObservableObject {
  @Published public private(set) var balance = NSDecimalNumber.zero
  @Published public private(set) var lastText: String?
  private let account: Account
  private var subscriptions: Set<AnyCancellable> = []

  public init(account: Account, context: NSManagedObjectContext) {
    self.account = account
    balance = account.balance
    context.changes(of: Entry.self)
      .map { changes in changes.inserted.union(changes.updated).union(changes.deleted) }
      .filter { entries in entries.contains { $0.account === account || $0.isDeleted } }
      .sink { [weak self] entries in
        self?.balance = account.balance
        self?.lastText = entries.compactMap { $0.text }.sorted().last
      }
      .store(in: &subscriptions)
  }
}

/// Tells when any of several objects is about to change: for views that show all of them.
public final class ObjectGroup<Object: NSManagedObject>: ObservableObject {
  public let objects: [Object]
  public let objectWillChange = ObservableObjectPublisher()
  public private(set) var changeCount = 0
  private var subscriptions: [AnyCancellable] = []

  public init(_ objects: [Object]) {
    self.objects = objects
    subscriptions = objects.map { object in
      object.objectWillChange.sink { [weak self] _ in
        self?.changeCount += 1
        self?.objectWillChange.send()
      }
    }
  }
}

/// The newest rows of a list that somebody searches in.
public final class SearchViewModel: ObservableObject {
  @Published public var query = ""
  @Published public private(set) var titles: [String] = []
  @Published public private(set) var failure: NSError?
  private var subscriptions: Set<AnyCancellable> = []

  public init(context: NSManagedObjectContext) {
    $query
      .removeDuplicates()
      .map { query -> NSPredicate? in
        query.isEmpty ? nil : NSPredicate(format: "%K CONTAINS[cd] %@", "name", query)
      }
      .map { context.publisher(for: Tag.self, matching: $0) }
      .switchToLatest()
      .map { $0.map { $0.displayTitle } }
      .sink(
        receiveCompletion: { [weak self] completion in
          switch completion {
          case .finished: break
          case .failure(let error): self?.failure = error
          }
        },
        receiveValue: { [weak self] in self?.titles = $0 }
      )
      .store(in: &subscriptions)
  }
}
