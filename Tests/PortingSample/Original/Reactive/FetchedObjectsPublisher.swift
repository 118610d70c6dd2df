//
//  FetchedObjectsPublisher.swift
//  LedgerKit
//

import Combine
import CoreData
import Foundation

/// What a fetched list holds, each time that it changes.
public struct FetchedSnapshot<Object: NSManagedObject> {
  public struct Section {
    public let name: String
    public let objects: [Object]
  }

  public let sections: [Section]

  public var objects: [Object] { return sections.flatMap { $0.objects } }
  public var isEmpty: Bool { return objects.isEmpty }

  public func outline(_ title: (Object) -> String) -> [String] {
    return sections.map { section in
      "\(section.name): \(section.objects.map(title).joined(separator: ", "))"
    }
  }
}

/// Publishes the results of a fetch request, and publishes them again when they change.
public struct FetchedObjectsPublisher<Object: NSManagedObject>: Publisher {
  public typealias Output = FetchedSnapshot<Object>
  public typealias Failure = NSError

  private let request: NSFetchRequest<Object>
  private let context: NSManagedObjectContext
  private let sectionKeyPath: String?

  public init(request: NSFetchRequest<Object>, context: NSManagedObjectContext, sectionKeyPath: String? = nil) {
    self.request = request
    self.context = context
    self.sectionKeyPath = sectionKeyPath
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let subscription = FetchedObjectsSubscription(
      subscriber: subscriber, request: request, context: context, sectionKeyPath: sectionKeyPath)
    subscriber.receive(subscription: subscription)
  }
}

/// Holds the controller as long as somebody is subscribed.
private final class FetchedObjectsSubscription<S: Subscriber, Object: NSManagedObject>: NSObject, Subscription,
  NSFetchedResultsControllerDelegate where S.Input == FetchedSnapshot<Object>, S.Failure == NSError {
  private var subscriber: S?
  private var controller: NSFetchedResultsController<Object>?
  private let context: NSManagedObjectContext
  private var demand: Subscribers.Demand = .none
  private var isFetched = false

  init(subscriber: S, request: NSFetchRequest<Object>, context: NSManagedObjectContext, sectionKeyPath: String?) {
    self.subscriber = subscriber
    self.context = context
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sectionKeyPath, cacheName: nil)
    super.init()
    controller?.delegate = self
  }

  func request(_ demand: Subscribers.Demand) {
    self.demand += demand
    guard self.demand > 0, !isFetched, let controller = controller else { return }
    isFetched = true
    do {
      try context.performAndWait { try controller.performFetch() }
      send()
    } catch let error as NSError {
      subscriber?.receive(completion: .failure(error))
      cancel()
    }
  }

  func cancel() {
    controller?.delegate = nil
    controller = nil
    subscriber = nil
  }

  private func send() {
    guard demand > 0, let subscriber = subscriber, let controller = controller else { return }
    let sections = (controller.sections ?? []).map { section in
      FetchedSnapshot<Object>.Section(name: section.name, objects: section.objects as? [Object] ?? [])
    }
    demand -= 1
    demand += subscriber.receive(FetchedSnapshot(sections: sections))
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    send()
  }
}

extension NSManagedObjectContext {
  /// The results of a request, followed.
  public func publisher<Object: NSManagedObject>(
    for request: NSFetchRequest<Object>, sectionKeyPath: String? = nil
  ) -> FetchedObjectsPublisher<Object> {
    return FetchedObjectsPublisher(request: request, context: self, sectionKeyPath: sectionKeyPath)
  }

  /// The objects of a class in their usual order, followed.
  public func publisher<Object: NSManagedObject & ManagedEntity>(
    for type: Object.Type, matching predicate: NSPredicate? = nil
  ) -> AnyPublisher<[Object], NSError> {
    let request = NSFetchRequest<Object>(entityName: type.entityName)
    request.sortDescriptors = type.defaultSortDescriptors
    request.predicate = predicate
    return publisher(for: request)
      .map { $0.objects }
      .eraseToAnyPublisher()
  }
}
