import Foundation
import Strata

/// Does something once, right after a context has asked its store for the first time: what the context reads behind that, for the same answer, might be of another commit.
///
/// Unchecked: but for the name everything is used by the thread of the context alone.
public final class BetweenReads: StrataObserver, @unchecked Sendable {
  private let name: String
  private var work: (() throws -> Void)?
  private var error: (any Error)?

  /// The context has asked for nothing.
  public struct NothingRead: Error {}

  private init(_ name: String, _ work: @escaping () throws -> Void) {
    self.name = name
    self.work = work
  }

  /// Runs `body`, and `work` in its midst, on the same thread. The context gets a name by which its fetches are known.
  ///
  /// - Throws: what either throws; ``NothingRead`` when `work` was not reached.
  public static func run<R>(
    of context: ManagedObjectContext, _ work: @escaping () throws -> Void, during body: () throws -> R
  ) throws -> R {
    let name = UUID().uuidString
    context.name = name
    let between = BetweenReads(name, work)
    let installation = StrataObservers.install(between, for: .fetches)
    defer { installation.remove() }
    let result = try body()
    if let error = between.error { throw error }
    if between.work != nil { throw NothingRead() }
    return result
  }

  public func observe(_ event: StrataEvent) {
    guard case .fetch(let fetch) = event, fetch.context.contains(name), let work else { return }
    self.work = nil
    do { try work() } catch { self.error = error }
  }
}
