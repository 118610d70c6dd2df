import Foundation

/// A page of an endless list.
public struct FetchPage<Result> {
  /// What is on the page, in the order of the request.
  public let results: [Result]
  /// Where the page ends: what the next one is asked for with, also when this is the last one, for there may be more later. Nil
  /// for an empty first page.
  public let continuation: FetchContinuation?
  /// Whether it holds fewer objects than were asked for, so that nothing was behind it when it was fetched. A list whose length is a
  /// multiple of the size ends with an empty page.
  public let isLast: Bool
}

extension FetchPage: Sendable where Result: Sendable {}

extension ManagedObjectContext {
  /// The next `size` objects of `request`, in its order, behind `continuation`; the first ones when that is nil.
  ///
  ///     var page = try context.fetchPage(request, size: 50)
  ///     while !page.isLast { page = try context.fetchPage(request, size: 50, after: page.continuation) }
  ///
  /// Unlike an offset, a continuation says behind which object to go on: what is inserted or deleted before it moves nothing, and what is
  /// inserted behind it is found. An object whose sort keys change meanwhile is where it has moved to. Without sort descriptors the
  /// order is that of primary keys. An index that has the order is entered where the page begins. Unsaved changes take part as in
  /// `fetch(_:)`.
  ///
  /// - Throws: what `fetch(_:)` throws; `FetchError` for a request with a limit or an offset, for a size that is not positive,
  ///   and for a continuation that another request has made.
  public func fetchPage<T: ManagedObject>(
    _ request: FetchRequest<T>, size: Int, after continuation: FetchContinuation? = nil
  ) throws -> FetchPage<T> {
    let specification = try specification(of: request)
    try checkResultType(T.self, specification.entityName)
    let (fetch, matches, page) = try page(specification, size, continuation)
    let objects = try finish(matches.map(fetch.object), specification)
    return FetchPage(results: try cast(objects), continuation: page, isLast: matches.count < size)
  }

  /// The same for the IDs of the objects.
  /// - Throws: as for objects.
  public func fetchPage(
    _ request: FetchRequest<ManagedObjectID>, size: Int, after continuation: FetchContinuation? = nil
  ) throws -> FetchPage<ManagedObjectID> {
    let specification = try specification(of: request)
    let (_, matches, page) = try page(specification, size, continuation)
    return FetchPage(
      results: matches.map { $0.identifier(in: self) }, continuation: page, isLast: matches.count < size)
  }

  private func page(
    _ specification: FetchSpecification, _ size: Int, _ continuation: FetchContinuation?
  ) throws -> (ContextFetch, ArraySlice<FetchMatch>, FetchContinuation?) {
    checkAccess(specification.entityName)
    guard size > 0, specification.fetchLimit == 0, specification.fetchOffset == 0 else {
      throw FetchError(reason: .windowOfPages, entityName: specification.entityName, key: nil)
    }
    let fetch = try ContextFetch(specification, in: self) { request in
      request.limit = size
      request.isPaged = true
      guard let continuation else { return }
      let store = coordinator.bindings.first { $0.store.identifier == continuation.storeIdentifier }
      request.start = try FetchStart(
        continuation, specification, request.sorts, storeIndex: store?.index ?? -1)
    }
    let matches = try fetch.matches(mode: .rows)
    guard let last = matches.last, let node = last.node,
      let evaluation = try fetch.evaluation(last.storeIndex)
    else { return (fetch, matches, continuation) }
    let end = FetchContinuation(
      after: specification, values: try evaluation.sortValues(node),
      storeIdentifier: evaluation.view.storeIdentifier, primaryKey: last.primaryKey)
    return (fetch, matches, end)
  }
}
